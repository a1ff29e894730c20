import { durationText } from './amounts.js'
import type { Paint } from './paint.js'
import { cut, plainLine, plainText } from './plain-text.js'
import { callSummary, readToolOutput } from './tool-text.js'

interface OpenCall {
  readonly tool: string
  /** Other calls ran beside it; then its lines bear its name. */
  hasCompany: boolean
  /** Output that does not end a line yet. */
  tail: string
  shown: number
  hidden: number
}

export interface ToolLinesOptions {
  readonly paint: Paint
  readonly columns: number
  /** Lines of output shown per call; 0 shows none. */
  readonly outputLines: number
}

/** A line that never ends is not held for ever. */
const MAX_TAIL_CHARACTERS = 10_000

/** Tool calls as lines: what was called, what it printed (dimmed and cut), how it ended. */
export function createToolLines({ paint, columns, outputLines }: ToolLinesOptions) {
  const calls = new Map<string, OpenCall>()

  const label = (call: OpenCall) => (call.hasCompany ? `${plainLine(call.tool)}  ` : '')

  function show(call: OpenCall, lines: readonly string[], isDiff = false): string {
    let text = ''
    for (const line of lines) {
      if (call.shown < outputLines) {
        call.shown += 1
        const shown = cut(plainText(line).replaceAll('\n', ' '), columns - 4)
        text += `${paint.dim(`  │ ${label(call)}`)}${isDiff ? paintChange(shown) : paint.dim(shown)}\n`
      } else call.hidden += 1
    }
    return text
  }

  function paintChange(line: string): string {
    if (line.startsWith('+')) return paint.green(line)
    return line.startsWith('-') ? paint.red(line) : paint.dim(line)
  }

  function finish(call: OpenCall): string {
    const text = call.tail === '' ? '' : show(call, [call.tail])
    call.tail = ''
    if (call.hidden === 0 || outputLines === 0) return text
    return `${text}${paint.dim(`  │ … ${call.hidden} more ${call.hidden === 1 ? 'line' : 'lines'}`)}\n`
  }

  return {
    started(callId: string, tool: string, argumentsText: string): string {
      calls.set(callId, { tool, hasCompany: false, tail: '', shown: 0, hidden: 0 })
      if (calls.size > 1) for (const call of calls.values()) call.hasCompany = true
      const name = plainLine(tool)
      const summary = callSummary(argumentsText, Math.max(20, columns - name.length - 5))
      return `${paint.cyan('→')} ${paint.bold(name)}${summary === '' ? '' : `  ${summary}`}\n`
    },

    output(callId: string, content: string): string {
      const call = calls.get(callId)
      if (!call) return ''
      const lines = plainText(call.tail + content).split('\n')
      call.tail = (lines.pop() ?? '').slice(-MAX_TAIL_CHARACTERS)
      return show(call, lines)
    },

    completed(callId: string, result: { output?: string; error?: string; durationMs?: number }): string {
      const call = calls.get(callId)
      if (!call) return ''
      const isSilent = call.shown === 0 && call.hidden === 0 && call.tail === ''
      const read = readToolOutput(result.output ?? '')
      const own = isSilent && result.error === undefined ? show(call, read.lines, read.isDiff) : ''
      const text = own + finish(call)
      const took = result.durationMs === undefined ? '' : durationText(result.durationMs)
      const name = label(call)
      const wrong = result.error === undefined ? read.complaint : cut(plainLine(result.error), columns - 4)
      calls.delete(callId)
      if (wrong !== undefined) return `${text}${paint.red('✗')} ${name}${wrong}${took && paint.dim(`  ${took}`)}\n`
      return `${text}${paint.green('✓')} ${name}${took}\n`
    },

    blocked(callId: string, tool: string, reason: string): string {
      calls.delete(callId)
      return `${paint.red('✗')} ${paint.bold(plainLine(tool))}  blocked: ${cut(plainLine(reason), columns)}\n`
    },
  }
}
