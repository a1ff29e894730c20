import { expect, test } from 'vitest'
import { raceApprovals, raceKills } from '../approval/suite.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const rounds = Number(process.env.ROUNDS ?? 20_000)
const kills = Number(process.env.KILLS ?? 100)

test(`${rounds} rounds of parallel answers`, { timeout: 3_600_000 }, async () => {
  const report = await raceApprovals({ rounds, seed })
  console.log(JSON.stringify({ seed, ...report }))
  expect(report.faults).toEqual([])
})

test(`${kills} SIGKILLs while calls wait`, { timeout: 3_600_000 }, async () => {
  const report = await raceKills({ rounds: kills, seed })
  console.log(JSON.stringify({ seed, ...report }))
  expect(report.faults).toEqual([])
})
