import { expect, test } from 'vitest'
import { CALM, runStorm } from '#test/kit/run-storm'

const RELOADS = 1000
const TOUCHES = 10_000
/** Node frees no module: the text of each reload stays. */
const HEAP_PER_RELOAD_BYTES = 100_000
const HEAP_BYTES = 30 * 1024 * 1024

test(`${RELOADS} reloads and ${TOUCHES} touches leave one epoch, no handle, and a bounded heap`, async () => {
  const report = await runStorm(RELOADS, TOUCHES, 900_000)
  console.info(JSON.stringify(report))
  expect(report).toMatchObject({ ...CALM, reloads: RELOADS })
  expect(report.runs).toBeGreaterThan(50)
  expect(report.handles[1]).toEqual(report.handles[0])
  expect(report.heapGrowthBytes).toBeLessThan(Math.min(HEAP_PER_RELOAD_BYTES * RELOADS, HEAP_BYTES))
}, 950_000)
