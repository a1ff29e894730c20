import type { Glob } from './glob.js'
import { pathGlob } from './path-glob.js'
import { textGlob } from './text-glob.js'

/** Tools whose argument patterns are about paths. */
export const PATH_TOOLS: ReadonlySet<string> = new Set(['read', 'write', 'edit', 'apply_patch'])
export const COMMAND_TOOL = 'bash'

/** What an argument is compared with. */
export interface ArgumentPattern extends Glob {
  /** The same pattern, without regard to case. */
  readonly ignoringCase: Glob
}

/** `tool` or `tool(argument)`, read. */
export interface RulePattern {
  /** In lower case. */
  readonly tool: string
  readonly argument?: ArgumentPattern
  /** Decides among the rules that match: the highest wins. */
  readonly specificity: number
}

const SHAPE = /^([^\s()]+)(?:\(([^()]+)\))?$/s
const WITHOUT_WILDCARD = 1_000_000

/** Reads a pattern, or says what is wrong with it. */
export function parseRulePattern(text: string): RulePattern | string {
  const [, name, argument] = SHAPE.exec(text) ?? []
  if (name === undefined)
    return 'must be a tool name, or one with an argument pattern in parentheses: bash, bash(git push:*)'
  const tool = name.toLowerCase()
  if (argument === undefined) return { tool, specificity: 0 }
  const read = PATH_TOOLS.has(tool) ? pathArgument(argument) : textArgument(tool, argument)
  if (typeof read === 'string') return read
  const specificity = 1 + read.literals + (read.hasWildcard ? 0 : WITHOUT_WILDCARD)
  return { tool, argument: read, specificity }
}

function textArgument(tool: string, argument: string): ArgumentPattern {
  const glob = textGlob(tool === COMMAND_TOOL ? argument.replaceAll(':*', ' *') : argument)
  return { ...glob, ignoringCase: glob }
}

function pathArgument(argument: string): ArgumentPattern | string {
  const path = argument.replace(/^(\.\/+)+/, '')
  if (path.startsWith('/')) return 'must be relative to the workspace'
  if (path.split('/').includes('..')) return 'must not lead upwards with ..'
  if (path === '') return 'must name a path'
  const glob = pathGlob(path)
  const ignoringCase = pathGlob(path.toLowerCase())
  if (typeof glob === 'string' || typeof ignoringCase === 'string') return `the path ${String(glob)}`
  return { ...glob, ignoringCase }
}
