import { randomUUID } from 'node:crypto'
import type { Message, ToolCall } from '../../run/message.js'
import type { ModelSink } from '../client.js'

/** A fragment as servers send it; every field may be missing or of any type. */
export interface ToolCallFragment {
  readonly index?: unknown
  readonly id?: unknown
  readonly name?: unknown
  /** Text, or arguments that were parsed already. */
  readonly arguments?: unknown
}

interface Building {
  readonly index: number
  readonly wireId: string
  id: string
  name: string
  arguments: string
  isAnnounced: boolean
}

/**
 * Joins fragments of tool calls. Copes with servers that leave out the index, reuse one index for several calls, send
 * calls whole, send no id or one they used before: every call gets its own index and an id not used in the transcript.
 */
export class ToolCallAssembler {
  private readonly calls: Building[] = []
  private readonly byIndex = new Map<number, Building>()
  private usedIds: Set<string> | undefined

  constructor(
    private readonly sink: ModelSink,
    private readonly transcript: readonly Message[],
  ) {}

  get count(): number {
    return this.calls.length
  }

  /** Takes one fragment and answers how many characters of arguments it brought. */
  take(fragment: ToolCallFragment): number {
    const wireId = typeof fragment.id === 'string' ? fragment.id : ''
    const name = typeof fragment.name === 'string' ? fragment.name : ''
    const text = argumentsOf(fragment.arguments)
    const call = this.callOf(fragment.index, wireId, name)
    if (call.name === '') call.name = name
    call.arguments += text
    if (call.isAnnounced) {
      if (text !== '') this.sink.part({ kind: 'tool_call', index: call.index, arguments: text })
    } else if (call.name !== '') this.announce(call)
    return text.length
  }

  /** The finished calls, in the order they began. */
  finish(): readonly ToolCall[] {
    const calls = this.calls.filter(call => call.isAnnounced || call.wireId !== '' || call.arguments !== '')
    for (const call of calls) if (!call.isAnnounced) this.announce(call)
    return calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }))
  }

  private callOf(wireIndex: unknown, wireId: string, name: string): Building {
    const last = this.calls.at(-1)
    if (typeof wireIndex !== 'number') {
      const named = wireId === '' ? undefined : this.calls.find(call => call.wireId === wireId)
      if (named !== undefined) return named
      return last !== undefined && wireId === '' && name === '' ? last : this.begin(wireId)
    }
    const open = this.byIndex.get(wireIndex)
    const isAnother =
      open !== undefined &&
      wireId !== '' &&
      wireId !== open.wireId &&
      open.wireId !== '' &&
      open.name !== '' &&
      name !== ''
    if (open !== undefined && !isAnother) return open
    const call = this.begin(wireId)
    this.byIndex.set(wireIndex, call)
    return call
  }

  private begin(wireId: string): Building {
    const call = { index: this.calls.length, wireId, id: '', name: '', arguments: '', isAnnounced: false }
    this.calls.push(call)
    return call
  }

  private announce(call: Building): void {
    call.id = this.uniqueId(call.wireId)
    call.isAnnounced = true
    this.sink.part({
      kind: 'tool_call',
      index: call.index,
      id: call.id,
      name: call.name,
      arguments: call.arguments,
    })
  }

  private uniqueId(wireId: string): string {
    this.usedIds ??= idsOf(this.transcript)
    const id = wireId !== '' && !this.usedIds.has(wireId) ? wireId : `call_${randomUUID().replaceAll('-', '')}`
    this.usedIds.add(id)
    return id
  }
}

function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function idsOf(transcript: readonly Message[]): Set<string> {
  const ids = new Set<string>()
  for (const { tool_calls } of transcript) for (const { id } of tool_calls ?? []) ids.add(id)
  return ids
}
