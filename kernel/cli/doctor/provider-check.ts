import type { ConfigView } from '../config-view.js'
import type { Check } from './check.js'

/** What of the environment tells whether a model can be reached. */
export interface ProviderVariables {
  readonly OPENAI_API_KEY?: string
  readonly OPENAI_BASE_URL?: string
}

/** Is there anything that could answer a run? Keys are looked for, not tried. */
export function providerCheck(config: ConfigView, variables: ProviderVariables): Check {
  const name = 'provider'
  const value = (key: string) => config.entries.find(entry => entry.key === key)?.value ?? ''
  if (value('provider') === 'fake')
    return value('fake_turns') === ''
      ? { name, state: 'fail', says: 'SVC_PROVIDER=fake has no turns', advice: 'set SVC_FAKE_TURNS=<file>' }
      : { name, state: 'ok', says: `scripted answers from ${value('fake_turns')}` }
  if (variables.OPENAI_BASE_URL) return { name, state: 'ok', says: `OpenAI-compatible, ${variables.OPENAI_BASE_URL}` }
  if (variables.OPENAI_API_KEY) return { name, state: 'ok', says: 'OpenAI-compatible, with OPENAI_API_KEY' }
  if (config.entries.some(({ key }) => key.startsWith('plugins.openai-compatible.')))
    return { name, state: 'ok', says: 'OpenAI-compatible, by the config file' }
  const advice =
    'set OPENAI_API_KEY, or OPENAI_BASE_URL to an OpenAI-compatible server, or SVC_PROVIDER=fake with SVC_FAKE_TURNS'
  // A plugin of this deployment may bring a provider of its own.
  const hasOwnPlugins = !['', '[]'].includes(value('plugin_dirs'))
  return { name, state: hasOwnPlugins ? 'warn' : 'fail', says: 'no model provider is configured', advice }
}
