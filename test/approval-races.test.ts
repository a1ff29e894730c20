import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { raceApprovals, raceKills } from './approval/suite.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const rounds = Number(process.env.ROUNDS ?? 2000)

test(`${rounds} rounds of approve, deny, cancel, resume and late clicks: one winner each, nothing twice, nothing lost`, {
  timeout: 300_000,
}, async () => {
  const report = await raceApprovals({ rounds, seed })
  console.log(JSON.stringify({ seed, ...report }))
  expect(report.faults).toEqual([])
  expect(report.rounds).toBe(rounds)
})

test('the deadline is one more hand in the race', { timeout: 120_000 }, async () => {
  const report = await raceApprovals({ rounds: 100, seed, timeoutSeconds: 0.05 })
  console.log(JSON.stringify({ seed, ...report }))
  expect(report.faults).toEqual([])
})

test('a SIGKILL while calls wait: what was answered counts, what was not can be answered after, nothing runs twice', {
  timeout: 240_000,
}, async () => {
  const report = await raceKills({ rounds: 10, seed })
  console.log(JSON.stringify({ seed, ...report }))
  expect(report.faults).toEqual([])
})

const broken =
  (file: string, ...changes: readonly (readonly [string, string])[]) =>
  async (plugins: string): Promise<void> => {
    const path = join(plugins, 'approvals', file)
    let source = await readFile(path, 'utf8')
    for (const [from, to] of changes) {
      expect(source).toContain(from)
      source = source.replace(from, to)
    }
    await writeFile(path, source)
  }

test('the suite sees an answer that is said to have won although another did', { timeout: 120_000 }, async () => {
  const breakPlugins = broken(
    'answer-pending.js',
    ["posted.kind === 'taken'", 'false'],
    ["posted.kind !== 'posted'", 'false'],
  )
  const { faults } = await raceApprovals({ rounds: 60, seed, breakPlugins })
  expect(faults.join()).toContain('more than one answer won')
})

test('the suite sees a call that runs although it was not approved', { timeout: 120_000 }, async () => {
  const breakPlugins = broken('verdict.js', ["case 'denied':", "case 'denied': return { kind: 'allow' };"])
  const { faults } = await raceApprovals({ rounds: 60, seed, breakPlugins })
  expect(faults.join()).toContain('without an approval')
})
