import { Failure, isFailure } from '#contracts/errors'
import type { Generation } from './generation.js'

/** A mistake of one plugin: the message names it, `details.plugin` too. */
export function pluginFault(plugin: string, problem: string, cause?: unknown): Failure {
  return new Failure('invalid_request', `plugin "${plugin}" ${problem}`, { cause, details: { plugin } })
}

/** Two generations claim one thing. The younger one is to blame: the other was there before. */
export function clash(one: Claimant, other: Claimant, deed: string): Failure {
  const [older, younger] = one.number < other.number ? [one, other] : [other, one]
  return pluginFault(younger.name, `${deed}, as ${older === younger ? 'it' : older.name} does already`)
}

type Claimant = Pick<Generation, 'name' | 'number'>

/** The plugin an error blames, when it blames one. */
export function pluginAtFault(error: unknown): string | undefined {
  const plugin = isFailure(error) ? error.details.plugin : undefined
  return typeof plugin === 'string' ? plugin : undefined
}

/** One line each, ended, so that they read well too where somebody makes one line of them. */
export const sentences = (texts: readonly string[]): string =>
  texts.map(text => (/[\w"')}\]]$/.test(text) ? `${text}.` : text)).join('\n')

/** What an operator can do about a plugin that keeps the daemon from starting. */
export const switchOffHint = (plugins: readonly string[]): string =>
  `To start without it, switch it off in the config file: ${plugins
    .map(plugin => `[plugins.${plugin}] enabled = false`)
    .join(', ')}`
