import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parseOptions } from './options.js'
import type { Peer } from './peers.js'
import { folded, writeReadme } from './readme.js'
import { missedGoals, renderBench } from './render.js'
import type { BenchResults } from './results.js'
import { median, quantile } from './statistics.js'

const sample = (peer: Peer, round: number, figures: Record<string, number>) => ({ peer, round, figures, errors: {} })
const results: BenchResults = {
  date: '2026-11-21T00:00:00.000Z',
  machine: { cpu: 'some', cores: 2, memoryGb: 4, kernel: '6', node: 'v20' },
  loadBefore: 0.5,
  rounds: 2,
  samples: [
    // The second round ran on a machine half as fast: the ratio stays what it is.
    sample('ours', 1, { cpuMs64: 1.5, runsPerSecond64: 500, failed64: 0 }),
    sample('floor-daemon', 1, { cpuMs64: 1, runsPerSecond64: 1000, failed64: 0 }),
    sample('ours', 2, { cpuMs64: 3, runsPerSecond64: 250, failed64: 1 }),
    sample('floor-daemon', 2, { cpuMs64: 2, runsPerSecond64: 500, failed64: 0 }),
  ],
}

test('a table holds medians with their range, ratios of single rounds, and what became of the goals', () => {
  const lines = renderBench(results).split('\n').slice(4)
  expect(lines).toEqual([
    '| runs/s, 64 at once, /s | 375 (250 to 500) | 750 (500 to 1000) | 0.50 | ≥ 0.6 x floor | missed |',
    '| CPU per run, 64 at once, ms | 2.25 (1.50 to 3) | 1.50 (1 to 2) | 1.50 | ≤ 1.6 x floor | met |',
    '| failed, 64 at once | 0.50 (0 to 1) | 0 |  | ≤ 0 | missed |',
  ])
  expect(missedGoals(results).map(({ key }) => key)).toEqual(['runsPerSecond64', 'failed64'])
})

test('quantiles and medians', () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), quantile([5, 1, 4, 2, 3], 0.99), median([])]).toEqual([
    2,
    2.5,
    5,
    Number.NaN,
  ])
})

test('options name what they do not know', () => {
  const now = new Date('2026-11-21T00:00:00Z')
  expect(() => parseOptions(['--cells', 'turn,nap'], now)).toThrow('--cells: nap is none of turn')
  expect(() => parseOptions(['--rounds', '0'], now)).toThrow('--rounds is a whole number from 1 to 50')
  expect(parseOptions(['--smoke', '--cells', 'turn'], now)).toMatchObject({ rounds: 1, isSmoke: true })
})

test('the README of this package shows first some rows of its table, as they stand in it', () => {
  const readme = readFileSync(resolve(import.meta.dirname, '../../../README.md'), 'utf8')
  const shown = readme.slice(readme.indexOf('<!-- bench -->') + 14, readme.indexOf('<!-- /bench -->')).trim()
  const machine = shown.split('\n').find(line => line.includes(' cores ')) ?? ''
  const whole = shown.slice(shown.indexOf('</summary>') + 10, shown.indexOf('</details>')).trim()
  expect(shown).toBe(folded(`${machine}\n\n${whole}`))
  expect(shown.slice(0, shown.indexOf(machine)).trim().split('\n')).toHaveLength(2 + 7)
})

test('a table goes between the marks of a README and nowhere else', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'runwright-readme-'))
  const path = join(dir, 'README.md')
  writeFileSync(path, 'before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n')
  await writeReadme(path, renderBench(results))
  const [before, after] = readFileSync(path, 'utf8').split(folded(renderBench(results)))
  expect([before, after]).toEqual(['before\n<!-- bench -->\n\n', '\n\n<!-- /bench -->\nafter\n'])
  writeFileSync(path, 'no marks')
  await expect(writeReadme(path, 'new')).rejects.toThrow('has no lines <!-- bench -->')
  rmSync(dir, { recursive: true })
})
