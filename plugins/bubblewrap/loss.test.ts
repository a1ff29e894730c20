import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BenchPlace, carriersOf, openBenchPlace } from './bench-place.js'
import { isRunning } from './process-state.js'

/**
 * What starts commands is killed, and a command comes before the event loop has told of it: it cannot know, and has to be
 * served all the same.
 */

const ROUNDS = 10
const ALLOWED = { network: 'allow', tenantId: 'one' } as const

let place: BenchPlace
let others: readonly string[]
let loops: ChildProcess[] = []
beforeEach(() => {
  others = spawners()
  place = openBenchPlace()
})
afterEach(async () => {
  for (const loop of loops) loop.kill('SIGKILL')
  loops = []
  await place.close()
})

/** None of one that is gone. */
function childrenOf(pid: string | number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  } catch {
    return []
  }
}

const spawners = () =>
  childrenOf(process.pid).filter(pid => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('runwright-tmp-'))

function kill(pid: string): void {
  expect(pid).toMatch(/^\d+$/)
  process.kill(Number(pid), 'SIGKILL')
}

/** Without a turn of the event loop, so that no event can tell. */
function killAndSee(pid: string): void {
  kill(pid)
  while (isRunning(Number(pid)));
}

function keepBusy(): void {
  loops = Array.from({ length: 3 }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
}

const SPAWNER = () => spawners().find(pid => !others.includes(pid)) ?? ''
const shellsOf = (carrier: string) => childrenOf(carrier).filter(pid => isRunning(Number(pid)))
/** Of the network that is in use; that of a lost one may still be on its way out. */
const CARRIER = () => carriersOf(process.pid).find(pid => shellsOf(pid).length > 0) ?? ''
const SHELL = () => shellsOf(CARRIER())[0] ?? ''

describe.each([
  ['on a machine with time', () => undefined],
  ['on a busy machine', keepBusy],
])('%s', (_, prepare) => {
  test.each([
    ['the spawner, seen dead', SPAWNER, killAndSee, {}],
    ['the spawner', SPAWNER, kill, {}],
    ['the spawner, seen dead, before a command in a network', SPAWNER, killAndSee, ALLOWED],
    ['the shell of the network, seen dead', SHELL, killAndSee, ALLOWED],
    ['the shell of the network', SHELL, kill, ALLOWED],
    ['what carries the connections, seen dead', CARRIER, killAndSee, ALLOWED],
  ] as const)(
    'commands sent right after the loss of %s are served, each once',
    async (_, find, end, policy) => {
      prepare()
      expect((await place.run('echo first', policy)).output).toBe('first\n')
      for (let round = 0; round < ROUNDS; round++) {
        end(find())
        const exits = await Promise.all([1, 2, 3].map(id => place.run(`echo ${id}; echo ${id} >>said`, policy)))
        expect(exits).toEqual([1, 2, 3].map(id => ({ kind: 'exited', code: 0, output: `${id}\n` })))
      }
      const { output } = await place.run('sort said | uniq -c', policy)
      expect(output.split(/\s+/).filter(Boolean)).toEqual([1, 2, 3].flatMap(id => [String(ROUNDS), String(id)]))
    },
    60_000,
  )
})

test('commands that come while the spawner is killed over and over run once, or are said not to have', async () => {
  keepBusy()
  let isOver = false
  const commands = async (lane: number) => {
    const told: [name: string, said: string][] = []
    for (let number = 0; !isOver; number++) {
      const name = `${lane}-${number}`
      const exit = await place.run(`set -C; echo ${name} >ran-${name} && echo ${name}`)
      told.push([name, exit.kind === 'refused' ? exit.reason : exit.output])
    }
    return told
  }
  const lanes = [1, 2, 3].map(commands)
  for (let round = 0; round < ROUNDS; round++) {
    await delay(Math.random() * 80)
    const spawner = SPAWNER()
    if (spawner) kill(spawner)
  }
  isOver = true
  for (const [name, said] of (await Promise.all(lanes)).flat()) {
    const hasRun = existsSync(join(place.root, `ran-${name}`))
    if (said.includes('may have run in part')) continue
    expect([name, said, hasRun]).toEqual([
      name,
      hasRun ? `${name}\n` : expect.stringContaining('was not started'),
      hasRun,
    ])
  }
  expect((await place.run('echo next')).output).toBe('next\n')
}, 60_000)

test('a command whose launcher is killed is not said to have left nothing', async () => {
  let begin = () => {}
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const running = place.run('echo its own words; sleep 60', {}, { onOutput: () => begin() })
  await begun
  for (const pid of childrenOf(SPAWNER())) kill(pid)
  const exit = await running
  expect(exit).toMatchObject({ kind: 'refused', reason: expect.stringContaining('It may have run in part') })
  expect(JSON.stringify(exit)).not.toContain('its own words')
  expect((await place.run('echo next')).output).toBe('next\n')
})
