import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { crash, NOTHING_LOST, summary } from './crash-harness.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

test('SIGKILL at random moments under load: nothing acknowledged is lost, nothing runs twice, nothing hangs', {
  timeout: 180_000,
}, async () => {
  const report = await crash({ kills: 10, seed })
  console.log(summary(report))
  expect(report).toMatchObject(NOTHING_LOST)
  expect(report.acknowledgedRuns).toBeGreaterThan(20)
})

test('the harness sees a store that answers before it has committed', { timeout: 180_000 }, async () => {
  const report = await crash({
    kills: 6,
    seed,
    breakPlugins: async plugins => {
      const file = join(plugins, 'sqlite', 'run-store.js')
      const source = await readFile(file, 'utf8')
      // The broken twin: a commit is said to be done at once and reaches the database some time later.
      const broken = source.replace(
        "await send('run.commit',",
        "void (async (...all) => { await new Promise(r => setTimeout(r, 150)); await send(...all).catch(() => {}) })('run.commit',",
      )
      expect(broken).not.toBe(source)
      await writeFile(file, broken)
    },
  })
  console.log(summary(report))
  expect(report.lostRuns.length + report.lostFrames.length + report.alteredFrames.length).toBeGreaterThan(0)
})
