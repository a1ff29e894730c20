import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { port } from '#contracts/plugin'
import { createHostBench, entry, type Folder, type HostBench } from '#test/kit/host-bench'

let bench: HostBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const WORD = `const WORD = port('word'), DEED = port('deed')`
const folder = (text: string): Folder => ({ 'index.js': text })
const GOOD = folder(entry('good', ''))

test('missing needs refuse a plugin and those that need it, in one message naming all, and nobody else', async () => {
  const needs = (name: string, ports: string, provides = '') =>
    folder(
      entry(name, '', {
        head: `const A = port('a'), B = port('b'), C = port('c')`,
        manifest: `needs: [${ports}], ${provides}`,
      }),
    )
  bench = await createHostBench({
    good: GOOD,
    hungry: needs('hungry', 'A, B', 'provides: [C],'),
    hanger: needs('hanger', 'C'),
  })
  const { host } = bench
  const report = await host.sync()
  expect(report.refused.map(({ plugin, because }) => [plugin, because])).toEqual([
    ['hungry', 'nothing provides what it needs: a, b. Switch on a plugin that provides it'],
    [
      'hanger',
      'nothing provides what it needs: c (hungry may provide it, but does not now). Switch on a plugin that provides it',
    ],
  ])
  expect(host.plugins().map(({ name, state }) => [name, state])).toEqual([
    ['good', 'running'],
    ['hanger', 'refused'],
    ['hungry', 'refused'],
  ])
  const giver = entry('giver', 'scope.provide(A, 1); scope.provide(B, 1)', {
    head: `const A = port('a'), B = port('b')`,
    manifest: 'provides: [A, B],',
  })
  await bench.write('giver', folder(giver))
  expect((await host.sync()).opened).toEqual(['giver', 'hungry'])
})

test('plugins that need each other are refused with the circle; the rest runs', async () => {
  const link = (name: string, needs: string, provides: string) =>
    folder(
      entry(name, '', {
        head: `const A = port('a'), B = port('b'), C = port('c')`,
        manifest: `optional: [${needs}], provides: [${provides}],`,
      }),
    )
  bench = await createHostBench({
    good: GOOD,
    one: link('one', 'C', 'A'),
    two: link('two', 'A', 'B'),
    six: link('six', 'B', 'C'),
  })
  const { refused } = await bench.host.sync()
  expect(refused.map(({ plugin }) => plugin).toSorted()).toEqual(['one', 'six', 'two'])
  expect(new Set(refused.map(({ because }) => because))).toEqual(
    new Set(['plugins need each other in a circle: one -> six -> two -> one']),
  )
  expect(bench.host.current.generations.map(({ name }) => name)).toEqual(['good'])
})

test('a port nobody provides in fact is taken from the kernel, or is absent', async () => {
  const KERNEL = port<string>('word')
  const user = entry(
    'user',
    `const said = [scope.use(WORD), scope.find(DEED)]; scope.tap('runAdmitting', async () => said)`,
    { head: WORD, manifest: 'needs: [WORD], optional: [DEED],' },
  )
  const shy = entry('shy', '', { head: WORD, manifest: 'provides: [WORD, DEED],' })
  bench = await createHostBench(
    { user: folder(user), shy: folder(shy) },
    { kernelPorts: new Map([[KERNEL.id, 'kernel']]) },
  )
  await bench.host.sync()
  expect(await bench.host.current.hooks.runAdmitting.promise({} as never)).toEqual(['kernel', undefined])
  expect(bench.host.current.port(KERNEL)).toBe('kernel')
  expect(bench.host.plugins()[0]?.adds.ports).toEqual([])
})

test('two folders of one name are refused with both places', async () => {
  bench = await createHostBench({ good: GOOD })
  const other = join(bench.dir, 'elsewhere', 'good')
  bench.extraSources.push({ name: 'good', dir: other, origin: 'configured' })
  await expect(bench.host.sync()).rejects.toThrow(/"good" is there twice: .*plugins\/good and .*elsewhere\/good/)
})

test('a link inside a plugin folder is refused', async () => {
  bench = await createHostBench({ good: GOOD })
  await symlink('/etc/hostname', join(bench.dir, 'plugins/good/link.js'))
  await expect(bench.host.sync()).rejects.toThrow(/"good" cannot be loaded .*link\.js, which is a link/)
})

test('an import that failed for want of a package works once the package is there', async () => {
  bench = await createHostBench({ good: folder(`import 'left-out'; ${entry('good', '')}`) })
  await expect(bench.host.sync()).rejects.toThrow('left-out')
  const home = join(bench.dir, 'plugins/good/node_modules/left-out')
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), '{ "name": "left-out", "main": "index.js" }')
  await writeFile(join(home, 'index.js'), '')
  expect((await bench.host.sync()).opened).toEqual(['good'])
})

test('a running plugin whose edit needs what nobody provides is not reloaded and runs on as it was', async () => {
  bench = await createHostBench({ good: GOOD, other: folder(entry('other', '')) })
  const { host } = bench
  await host.sync()
  const before = host.current
  await bench.write(
    'good',
    folder(entry('good', '', { head: `const A = port('a'), B = port('b')`, manifest: 'needs: [A, B],' })),
  )
  await expect(host.sync()).rejects.toThrow('plugin "good" cannot be reloaded: nothing provides what it needs: a, b')
  expect(host.current).toBe(before)
  expect(host.plugins().map(({ name, state, last_error }) => [name, state, last_error])).toEqual([
    ['good', 'running', expect.stringContaining('a, b')],
    ['other', 'running', undefined],
  ])
})

test('a provider that is taken away takes those that need it along, and they come back with it', async () => {
  const giver = folder(entry('giver', 'scope.provide(WORD, 1)', { head: WORD, manifest: 'provides: [WORD],' }))
  const link = entry('link', 'scope.provide(DEED, 1)', { head: WORD, manifest: 'needs: [WORD], provides: [DEED],' })
  const user = entry('user', '', { head: WORD, manifest: 'needs: [DEED],' })
  bench = await createHostBench({ good: GOOD, giver, link: folder(link), user: folder(user) })
  const { host } = bench
  await host.sync()
  await bench.remove('giver')
  const report = await host.sync()
  expect([report.closed.toSorted(), report.refused.map(({ plugin }) => plugin)]).toEqual([
    ['giver', 'link', 'user'],
    ['link', 'user'],
  ])
  await bench.write('giver', giver)
  expect((await host.sync()).opened).toEqual(['giver', 'link', 'user'])
})

test('a running plugin that an edit brings into a circle is not reloaded', async () => {
  const giver = folder(entry('giver', 'scope.provide(WORD, 1)', { head: WORD, manifest: 'provides: [WORD],' }))
  const user = entry('user', 'scope.provide(DEED, 1)', { head: WORD, manifest: 'needs: [WORD], provides: [DEED],' })
  bench = await createHostBench({ giver, user: folder(user) })
  const { host } = bench
  await host.sync()
  await bench.edit('giver', 'index.js', 'provides: [WORD],', 'needs: [DEED], provides: [WORD],')
  await expect(host.sync()).rejects.toThrow(/need each other in a circle/)
  expect(host.current.number).toBe(1)
})

test('a plugin that is switched off is shown as off, and nothing of it is looked at', async () => {
  bench = await createHostBench({ good: GOOD })
  bench.extraSources.push({ name: 'sleeper', dir: '/nowhere/sleeper', origin: 'bundled', isOff: true })
  await bench.host.sync()
  expect(bench.host.plugins()).toMatchObject([
    { name: 'good', state: 'running' },
    {
      name: 'sleeper',
      origin: 'bundled',
      state: 'off',
      adds: { hooks: [], tools: [], routes: [], ports: [], background: [] },
    },
  ])
})
