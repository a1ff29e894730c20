import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandboxProblem } from './sandbox-problem.js'

// Beside this file, so that the plugins find the contracts.
let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(import.meta.dirname, 'plugins-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

function writePlugin(name: string, registers: string) {
  const folder = join(dir, name)
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'index.js'),
    `import { Type } from '@sinclair/typebox'
    import { definePlugin } from '#contracts/plugin'
    import { SANDBOX } from '#contracts/ports'
    export const plugin = definePlugin({
      name: '${name}', provides: [SANDBOX],
      config: Type.Object({ why: Type.String({ default: '' }) }),
      register(scope) { ${registers} },
    })`,
  )
  return { name, dir: folder }
}

const CHECKS = `scope.provide(SANDBOX, {
  name: 'test', run: async () => ({ kind: 'aborted' }),
  check: async () => (scope.config.why === '' ? undefined : { kind: 'refused', reason: scope.config.why }),
})`

const ask = (plugins: readonly { name: string; dir: string }[], config: object = {}) =>
  sandboxProblem({ plugins, configure: () => config, shelf: join(dir, 'shelf') }, dir)

test('a sandbox is asked, with the configuration a daemon would give it', async () => {
  const plugin = writePlugin('confining', CHECKS)
  expect([await ask([plugin]), await ask([plugin], { why: 'no namespaces' })]).toEqual([undefined, 'no namespaces'])
})

test('no plugin, or only one for another system, is a problem', async () => {
  const foreign = writePlugin('foreign', '')
  const problems = [await ask([]), await ask([foreign])]
  expect(problems).toEqual([
    expect.stringMatching(/bubblewrap.*seatbelt/),
    expect.stringMatching(/bubblewrap.*seatbelt/),
  ])
})
