import { expect, test } from 'vitest'
import { flood } from './slow-readers.js'

test('50 readers that never read cost bounded memory, are cut, and lose nothing; the one that reads gets everything', {
  timeout: 120_000,
}, async () => {
  const report = await flood({ readers: 50, megabytes: 24, stalledMs: 1_000 })
  console.log(JSON.stringify(report))
  expect(report).toMatchObject({ isHealthyWhole: true, cut: 50, resumedWhole: 50 })
  expect(report.loggedMegabytes).toBeGreaterThan(20)
  expect(report.grownMegabytes).toBeLessThan(150)
})
