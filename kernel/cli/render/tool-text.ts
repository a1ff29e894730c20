import { cut, plainLine, plainText } from './plain-text.js'

/** Arguments that say best what a call is about, in this order. */
const TELLING = ['command', 'path', 'file_path', 'pattern', 'query', 'url', 'name', 'prompt'] as const

/** The arguments of a tool call on one line: the telling one where there is one, else the JSON text. */
export function callSummary(argumentsText: string, width: number): string {
  const told = tellingArgument(argumentsText)
  return cut(plainLine(told ?? argumentsText), width)
}

function tellingArgument(argumentsText: string): string | undefined {
  try {
    const args: unknown = JSON.parse(argumentsText)
    if (typeof args !== 'object' || args === null) return undefined
    if (Object.keys(args).length === 0) return ''
    const values = args as Readonly<Record<string, unknown>>
    for (const key of TELLING) {
      const value = values[key]
      if (typeof value === 'string' && value !== '') return value
    }
    return undefined
  } catch {
    return undefined
  }
}

/** A result as a person reads it. Results that look like none of the known forms are shown as they are. */
export interface ToolText {
  readonly lines: readonly string[]
  readonly isDiff?: boolean
  /** The tool worked, what it ran did not: `exit 1`, `timed out`. */
  readonly complaint?: string
}

/**
 * Goes by the form of a result and not by the tool: the text of a command or file, the change to one, a list line by
 * line.
 */
export function readToolOutput(output: string): ToolText {
  const fields = fieldsOf(output)
  if (!fields) return { lines: linesOf(output) }
  const complaint = complaintOf(fields)
  const found = complaint === undefined ? {} : { complaint }
  if (typeof fields.diff === 'string') return { ...found, lines: changedLines(fields.diff), isDiff: true }
  for (const key of ['output', 'stdout', 'content', 'text']) {
    const text = fields[key]
    if (typeof text === 'string') return { ...found, lines: linesOf(text) }
  }
  for (const key of ['entries', 'matches', 'results', 'items']) {
    const list = fields[key]
    if (Array.isArray(list)) return { ...found, lines: list.map(itemText) }
  }
  return { ...found, lines: linesOf(output) }
}

function complaintOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  if (fields.timed_out === true) return 'timed out'
  return typeof fields.exit_code === 'number' && fields.exit_code !== 0 ? `exit ${fields.exit_code}` : undefined
}

/** Without the headers, which repeat the name of the file and count its lines. */
const changedLines = (diff: string): readonly string[] =>
  linesOf(diff).filter(line => !/^(--- |\+\+\+ |@@ |Index: |={3,})/.test(line))

/** A line that was found is shown as compilers and grep do. */
function itemText(item: unknown): string {
  if (typeof item === 'string') return item
  const { path, line, line_number: number, text = line } = (item ?? {}) as Readonly<Record<string, unknown>>
  return typeof path === 'string' && typeof text === 'string'
    ? `${path}:${number ?? ''}: ${text}`
    : JSON.stringify(item)
}

function fieldsOf(output: string): Readonly<Record<string, unknown>> | undefined {
  if (!output.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(output)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

function linesOf(text: string): readonly string[] {
  const shown = plainText(text).replace(/\n+$/, '')
  return shown === '' ? [] : shown.split('\n')
}
