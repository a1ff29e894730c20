import type { Booted, EventEnvelope } from '../kit/boot.js'
import { scriptedPrompt } from '../kit/scripted-plugin.js'

type Client = Pick<Booted, 'request' | 'start' | 'events' | 'until'>

/** One request somebody makes while a call waits. */
export type Hand = 'approve' | 'deny' | 'cancel' | 'resume' | 'other call'

/** What came of one round. */
export interface Round {
  readonly id: string
  readonly n: number
  readonly replies: readonly { readonly hand: Hand; readonly status: number }[]
  readonly late: readonly number[]
  /** What an approval gets right after a cancel was acknowledged. */
  readonly afterCancel: readonly number[]
  readonly events: readonly EventEnvelope[]
}

const WAIT: Readonly<Record<Exclude<Hand, 'resume'>, readonly [string, object]>> = {
  approve: ['approve', {}],
  deny: ['deny', { call_id: 'c1' }],
  cancel: ['cancel', {}],
  'other call': ['approve', { call_id: 'c0' }],
}

/** Starts a run whose one call needs an approval; resolves when it is announced. */
export async function startWaiting(client: Client, n: number): Promise<string> {
  const id = await client.start({
    prompt: scriptedPrompt([{ id: 'c1', name: 'trigger', arguments: { n } }]),
    permissions: { approval: 'destructive' },
  })
  await client.until(id, 'tool.approval_required')
  return id
}

/** All hands at once, each after a pause of its own, then the end of the run, then two clicks that come too late. */
export async function race(
  client: Client,
  id: string,
  n: number,
  hands: readonly Hand[],
  pauseMs: (hand: Hand) => number,
): Promise<Round> {
  const checkpoint = hands.includes('resume') ? await checkpointOf(client, id) : undefined
  const afterCancel: number[] = []
  const replies = await Promise.all(
    hands.map(async hand => {
      const ms = pauseMs(hand)
      if (ms >= 1) await new Promise(resolve => setTimeout(resolve, ms))
      const [verb, body] = hand === 'resume' ? [] : WAIT[hand]
      const path = verb === undefined ? `/v1/checkpoints/${checkpoint}/resume` : `/v1/runs/${id}/${verb}`
      const { status } = await client.request('POST', path, body ?? {})
      if (hand === 'cancel') afterCancel.push((await client.request('POST', `/v1/runs/${id}/approve`)).status)
      return { hand, status }
    }),
  )
  const events = await client.events(id)
  const late = await Promise.all(
    ['approve', 'deny'].map(async verb => (await client.request('POST', `/v1/runs/${id}/${verb}`)).status),
  )
  return { id, n, replies, late, afterCancel, events }
}

const checkpointOf = async (client: Client, id: string): Promise<string> =>
  (await client.request('GET', `/v1/runs/${id}/checkpoint`)).body.id

/** Everything that is wrong with a round, as sentences; `effects` are the lines the tool wrote. */
export function faultsOf(
  { id, n, replies, late, afterCancel, events }: Round,
  effects: readonly string[],
): readonly string[] {
  const won = replies.filter(({ hand, status }) => hand !== 'cancel' && status === 200).map(({ hand }) => hand)
  const wasCancelled = replies.some(({ hand }) => hand === 'cancel')
  const ran = effects.filter(line => line.startsWith(`${id} `))
  const count = (type: string) => events.filter(event => event.type === type).length
  const end = events.at(-1)?.type
  const faults: string[] = []
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(`${id}: ${fault} (${JSON.stringify({ replies, ran, end })})`)
  }
  // Killed right after the call's intent was stored: the model was told that nobody knows whether it ran.
  const isUnknown = events.some(({ payload }) => String(payload?.output).includes('outcome_unknown'))
  const hasTimedOut = events.some(({ payload }) => payload?.reason === 'timeout')
  expect(won.length <= 1, 'more than one answer won')
  expect(won.length === 1 || wasCancelled || hasTimedOut, 'no answer won')
  expect(!hasTimedOut || won.length === 0, 'an answer won although the time was up')
  expect(!won.includes('other call'), 'an answer to another call won')
  expect(ran.length <= 1, 'the call ran twice')
  expect(
    ran.every(line => line === `${id} ${n}`),
    'the call ran with other arguments',
  )
  expect(ran.length === 0 || won[0] === 'approve', 'the call ran without an approval')
  expect(won[0] !== 'approve' || end === 'run.cancelled' || isUnknown || ran.length === 1, 'an approval was lost')
  expect(count('tool.approval_required') === 1, 'announced not exactly once')
  expect(count('tool.approval_granted') === (won[0] === 'approve' ? 1 : 0), 'granted does not agree with the replies')
  const denials = won[0] === 'deny' || won[0] === 'resume' || hasTimedOut ? 1 : 0
  expect(count('tool.approval_denied') === denials, 'denied does not agree with the replies')
  expect(end === 'run.completed' || (end === 'run.cancelled' && wasCancelled), 'it ended in another way')
  expect(
    replies.every(({ status }) => [200, 404, 409].includes(status)),
    'an answer failed',
  )
  expect(
    late.every(status => status === 404),
    'a late click was taken',
  )
  expect(!afterCancel.includes(200), 'an approval won after the cancel was acknowledged')
  return faults
}
