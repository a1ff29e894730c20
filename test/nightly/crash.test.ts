import { expect, test } from 'vitest'
import { crash, NOTHING_LOST, summary } from '../crash/crash-harness.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const kills = Number(process.env.KILLS ?? 100)

test(`${kills} SIGKILLs under load`, { timeout: 3_600_000 }, async () => {
  const report = await crash({ kills, seed })
  console.log(summary(report))
  expect(report).toMatchObject(NOTHING_LOST)
})
