import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Networks } from './networks.js'
import type { PrivateNetwork } from './private-network.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Networks that only count; the newest comes last. */
function bench(idleMs = 1000) {
  const ended = new Set<number>()
  const opened: (PrivateNetwork & { readonly name: number; readonly end: AbortController })[] = []
  let isRefused = false
  const networks = new Networks(async () => {
    if (isRefused) throw new Error('no network')
    const end = new AbortController()
    const close = () => end.abort()
    const isLost = () => {
      if (ended.has(network.name)) end.abort()
      return end.signal.aborted
    }
    const over = new Promise<void>(() => {})
    const network = {
      name: opened.length,
      end,
      lost: end.signal,
      isLost,
      over,
      resolver: '',
      send: () => undefined,
      close,
    }
    opened.push(network)
    return network
  }, idleMs)
  const refuse = (value: boolean) => {
    isRefused = value
  }
  const alive = () => opened.filter(({ lost }) => !lost.aborted).map(({ name }) => name)
  return { networks, opened, refuse, alive, ended }
}

test('commands of one key share a network, also while it is being opened; other keys have their own', async () => {
  const { networks, opened } = bench()
  const leases = await Promise.all(['a', 'a', 'b', undefined, undefined].map(key => networks.lease(key)))
  expect(leases.map(({ network }) => opened.indexOf(network as never))).toEqual([0, 0, 1, 2, 3])
})

test('it is closed when it was idle for so long, not while a command is in it', async () => {
  const { networks, alive } = bench()
  const [one, two] = [await networks.lease('a'), await networks.lease('a')]
  one.end()
  await vi.advanceTimersByTimeAsync(5000)
  expect(alive()).toEqual([0])
  two.end()
  await vi.advanceTimersByTimeAsync(999)
  const three = await networks.lease('a')
  await vi.advanceTimersByTimeAsync(5000)
  expect(alive()).toEqual([0])
  three.end()
  await vi.advanceTimersByTimeAsync(1000)
  expect(alive()).toEqual([])
  await networks.lease('a')
  expect(alive()).toEqual([1])
})

test('one without a key is closed at once', async () => {
  const { networks, alive } = bench()
  const lease = await networks.lease(undefined)
  expect(alive()).toEqual([0])
  lease.end()
  expect(alive()).toEqual([])
})

test('a lost one is not handed out again', async () => {
  const { networks, opened, alive } = bench()
  const lease = await networks.lease('a')
  opened[0]?.end.abort()
  await networks.lease('a')
  lease.end()
  await vi.advanceTimersByTimeAsync(5000)
  expect(alive()).toEqual([1])
})

test('nor one that has ended without a word of it yet', async () => {
  const { networks, ended, alive } = bench()
  const first = await networks.lease('a')
  first.end()
  ended.add(0)
  const [second, third] = [await networks.lease('a'), await networks.lease('a')]
  expect([alive(), third.network]).toEqual([[1], second.network])
  second.end()
  third.end()
  await vi.advanceTimersByTimeAsync(1000)
  expect(alive()).toEqual([])
})

test('one that could not be had is tried again', async () => {
  const { networks, refuse, alive } = bench()
  refuse(true)
  await expect(networks.lease('a')).rejects.toThrow('no network')
  refuse(false)
  await networks.lease('a')
  await vi.advanceTimersByTimeAsync(5000)
  expect(alive()).toEqual([0])
})

test('of many idle ones the eight that were used last are kept', async () => {
  const { networks, alive } = bench()
  const busy = await networks.lease('busy')
  const leases = []
  for (let key = 0; key < 10; key++) leases.push(await networks.lease(String(key)))
  for (const lease of leases.toReversed()) lease.end()
  await vi.advanceTimersByTimeAsync(0)
  expect(alive()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  busy.end()
})
