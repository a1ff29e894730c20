import type { Message } from '#contracts/run/message'
import { missingResult, strayResult, systemNote, type WireMessage, wireId, wireMessage } from './wire-message.js'

const BEGINNING = systemNote('The conversation begins with the assistant.')
const GO_ON = systemNote('Go on.')
const COMMA = Buffer.from(',')
const OPENINGS = {
  user: Buffer.from(',{"role":"user","content":['),
  assistant: Buffer.from(',{"role":"assistant","content":['),
}
const CLOSING = Buffer.from(']}')
const CACHE_MARK = Buffer.from(',"cache_control":{"type":"ephemeral"}}')
/** The end of this request, for the next one to read, and the end of the one before, for this one. */
const MARKED_TURNS = 2

/** What one side says before the other has its turn. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly messages: WireMessage[]
  /** Of the messages, so many are results of calls. They have to come first. */
  results: number
}

/** A call without a result so far. */
interface OpenCall {
  /** As it is sent, unless it is renamed. */
  readonly id: string
  /** The id it has instead where an earlier call has that one. */
  readonly renamed?: string
}

/**
 * Orders messages into turns the API takes, whatever the transcript looks like: a user begins and ends, sides take turns,
 * every call has its result right after it and an id of its own. A message always ends up with the same bytes at the same place, so what was sent
 * once is a prefix of what is sent next.
 */
export class MessageList {
  private readonly turns: Turn[] = []
  /** Of the assistant's last turn, in its order. */
  private readonly open: OpenCall[] = []
  private readonly usedIds = new Set<string>()
  /** Is there a call or a result? */
  hasCalls = false

  add(message: Message, wire: WireMessage): void {
    const { kind, callIds } = wire
    if (wire.blocks.length === 0) return
    if (callIds.length > 0) this.hasCalls = true
    if (kind === 'assistant') this.addAnswer(message, wire)
    else if (kind === 'user') this.turnOf('user').messages.push(wire)
    else this.addResultOf(callIds[0] ?? '', message, wire)
  }

  /**
   * The list as JSON pieces. What is `trailing` stands behind the last cache mark: it is gone in the next request, and
   * must not be part of what that one finds again.
   */
  finish(trailing: readonly WireMessage[], isCached: boolean): readonly Buffer[] {
    this.closeCalls()
    const last = this.turnOf('user')
    const marked = isCached ? this.markedTurns() : []
    const pieces: Buffer[] = []
    for (const turn of this.turns) {
      const [first] = turn.messages
      if (first !== undefined && turn.messages.length === 1 && turn !== last && !marked.includes(turn))
        pieces.push(first.whole)
      else writeTurn(pieces, turn, marked.includes(turn), turn === last ? trailing : [])
    }
    pieces[0] = (pieces[0] ?? COMMA).subarray(1)
    return pieces
  }

  private turnOf(role: Turn['role']): Turn {
    const last = this.turns.at(-1)
    if (last?.role === role) return last
    const turn: Turn = { role, messages: [], results: 0 }
    this.turns.push(turn)
    return turn
  }

  private addAnswer(message: Message, wire: WireMessage): void {
    this.closeCalls()
    if (this.turns.length === 0) this.turnOf('user').messages.push(BEGINNING)
    const { callIds } = wire
    const isUnique = !callIds.some((id, index) => this.usedIds.has(id) || callIds.indexOf(id) !== index)
    if (isUnique) {
      for (const id of callIds) this.open.push({ id })
      for (const id of callIds) this.usedIds.add(id)
    }
    this.turnOf('assistant').messages.push(isUnique ? wire : this.renamed(message, callIds))
  }

  private renamed(message: Message, callIds: readonly string[]): WireMessage {
    const calls = message.tool_calls?.map((call, index) => {
      const renamed = this.unusedId(call.id)
      this.open.push({ id: callIds[index] ?? '', renamed })
      return { ...call, id: renamed }
    })
    return wireMessage({ ...message, tool_calls: calls ?? [] })
  }

  private unusedId(id: string): string {
    let free = id
    for (let count = 2; this.usedIds.has(wireId(free)); count++) free = `${id}_${count}`
    this.usedIds.add(wireId(free))
    return free
  }

  private addResultOf(callId: string, message: Message, wire: WireMessage): void {
    const at = this.open.findIndex(({ id }) => id === callId)
    const [call] = at === -1 ? [] : this.open.splice(at, 1)
    if (call === undefined) this.turnOf('user').messages.push(strayResult(message))
    else if (call.renamed === undefined) this.addResult(wire)
    else this.addResult(wireMessage({ ...message, tool_call_id: call.renamed }))
  }

  private addResult(result: WireMessage): void {
    const turn = this.turnOf('user')
    turn.messages.splice(turn.results++, 0, result)
  }

  private closeCalls(): void {
    if (this.open.length === 0) return
    for (const { id, renamed } of this.open.splice(0))
      this.addResult(missingResult(renamed === undefined ? id : wireId(renamed)))
  }

  private markedTurns(): readonly Turn[] {
    const marked: Turn[] = []
    for (let at = this.turns.length - 1; at >= 0 && marked.length < MARKED_TURNS; at--) {
      const turn = this.turns[at]
      if (turn?.role === 'user' && turn.messages.length > 0) marked.push(turn)
    }
    return marked
  }
}

function writeTurn(to: Buffer[], { role, messages }: Turn, isMarked: boolean, trailing: readonly WireMessage[]): void {
  const stable = messages.map(({ blocks }) => blocks)
  const passing = trailing.map(({ blocks }) => blocks).filter(({ length }) => length > 0)
  if (stable.length + passing.length === 0) passing.push(GO_ON.blocks)
  to.push(OPENINGS[role])
  for (const [index, blocks] of [...stable, ...passing].entries()) {
    if (index > 0) to.push(COMMA)
    if (isMarked && index === stable.length - 1) to.push(blocks.subarray(0, -1), CACHE_MARK)
    else to.push(blocks)
  }
  to.push(CLOSING)
}
