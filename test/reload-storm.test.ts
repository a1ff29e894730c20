import { expect, test } from 'vitest'
import { CALM, runStorm } from '#test/kit/run-storm'

const RELOADS = 60

test(`${RELOADS} reloads with runs in flight leave one epoch, no handle, no thread, and little heap`, async () => {
  const report = await runStorm(RELOADS, 0, 150_000)
  expect(report).toMatchObject({ ...CALM, reloads: RELOADS })
  expect(report.runs).toBeGreaterThan(50)
  expect(report.handles[1]).toEqual(report.handles[0])
  // The goal of a thousand reloads; so few of them also hold what is warmed up once.
  expect(report.heapGrowthBytes / RELOADS).toBeLessThan(200_000)
}, 160_000)
