import { posix } from 'node:path'
import type { PendingCall } from '#contracts/hooks'
import type { WorkspaceRoots } from '#contracts/tool/tool'
import { mayMutate } from '#contracts/tool/tool'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import type { ArgumentPattern } from './rule-pattern.js'
import { COMMAND_TOOL, PATH_TOOLS } from './rule-pattern.js'
import { parseShellCommand } from './shell-words.js'

/** What a call is about, ready to be compared with patterns. A rule that allows must cover all of it, others any of it. */
export interface Subject {
  isCoveredBy(pattern: ArgumentPattern): boolean
  isTouchedBy(pattern: ArgumentPattern): boolean
}

const NOTHING: Subject = { isCoveredBy: () => false, isTouchedBy: () => false }
const ARGUMENTS = ['path', 'file_path', 'command', 'query', 'url']

/** Reads the subject of a call. Throws when it cannot be told: the call is then denied. */
export async function subjectOf(
  call: PendingCall,
  roots: WorkspaceRoots,
  files: WorkspaceFiles | undefined,
): Promise<Subject> {
  const name = call.tool.name.toLowerCase()
  if (name === COMMAND_TOOL) return commandSubject(call.args.command)
  if (PATH_TOOLS.has(name)) return pathSubject(call, roots, files)
  return textSubject(firstText(call.args))
}

function commandSubject(command: unknown): Subject {
  if (typeof command !== 'string') return NOTHING
  const { text, parts, isComplete } = parseShellCommand(command)
  // A line end between words ends a command, and reads like a blank.
  const isOneLine = linesOf(command.trim()) === linesOf(text)
  return {
    // `git:*` allows no `git status; rm -rf .`: the wildcard must not swallow another command.
    isCoveredBy: ({ matches, hasWildcard }) =>
      isComplete && matches(text) && (hasWildcard ? parts.length > 0 && parts.every(part => matches(part)) : isOneLine),
    isTouchedBy: ({ matches }) => matches(text) || parts.some(part => matches(part)),
  }
}

const linesOf = (text: string): number => text.split('\n').length

async function pathSubject(
  { tool, args }: PendingCall,
  roots: WorkspaceRoots,
  files: WorkspaceFiles | undefined,
): Promise<Subject> {
  const given = tool.subject?.(args).paths ?? firstText(args)
  const asGiven = given.map(path => posix.normalize(path).toLowerCase())
  if (!files) throw new Error('paths cannot be told without workspace files')
  const resolved: string[] = []
  for (const path of given) {
    const place = await files.resolve(roots, path, mayMutate(tool) ? 'write' : 'read')
    if (place.kind === 'refused') throw new Error(place.message)
    resolved.push(place.path)
  }
  const ignoringCase = [...resolved.map(path => path.toLowerCase()), ...asGiven]
  return {
    isCoveredBy: pattern => resolved.length > 0 && resolved.every(path => pattern.matches(path)),
    isTouchedBy: pattern => ignoringCase.some(path => pattern.ignoringCase.matches(path)),
  }
}

function textSubject([text]: readonly string[]): Subject {
  if (text === undefined) return NOTHING
  const isSame = ({ matches }: ArgumentPattern): boolean => matches(text)
  return { isCoveredBy: isSame, isTouchedBy: isSame }
}

function firstText(args: PendingCall['args']): readonly string[] {
  const found = ARGUMENTS.map(name => args[name]).find(value => typeof value === 'string')
  return typeof found === 'string' ? [found] : []
}
