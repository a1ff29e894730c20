import { afterEach, expect, test } from 'vitest'
import { createHostBench, entry, type Folder, type HostBench } from '#test/kit/host-bench'

let bench: HostBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

const BARS = `import { gathering } from '#contracts/plugin'\nconst BARS = gathering('bars')`

const contributor = (name: string, ...bars: string[]): Folder => ({
  'index.js': entry(name, bars.map(bar => `scope.contribute(BARS, '${bar}')`).join('\n'), {
    head: BARS,
    manifest: 'contributes: [BARS],',
  }),
})

const GATHERER: Folder = {
  'index.js': entry(
    'album',
    `const bars = scope.gather(BARS)
    scope.tap('runAdmitting', async admission => ({ ...admission, bars: [...bars] }))`,
    { head: BARS, manifest: 'gathers: [BARS],' },
  ),
}

async function boot(plugins: Readonly<Record<string, Folder>>): Promise<HostBench> {
  bench = await createHostBench(plugins)
  await bench.host.sync()
  return bench
}

const barsOf = async (epoch: HostBench['host']['current']): Promise<unknown> =>
  ((await epoch.hooks.runAdmitting.promise({} as never)) as unknown as { bars: unknown }).bars

test('a plugin gathers what all others contribute, in the order of their names', async () => {
  const { host } = await boot({
    zebra: contributor('zebra', 'z'),
    album: GATHERER,
    bear: contributor('bear', 'b1', 'b2'),
  })
  expect(await barsOf(host.current)).toEqual(['b1', 'b2', 'z'])
})

test('an edited contributor re-opens who gathers, and an epoch that is still held keeps the items it had', async () => {
  const { host, edit } = await boot({
    album: GATHERER,
    bear: contributor('bear', 'old'),
    zebra: contributor('zebra', 'z'),
  })
  const before = host.current
  const release = before.lease()
  await edit('bear', 'index.js', 'old', 'new')
  const { opened } = await host.sync()
  expect([...opened].sort()).toEqual(['album', 'bear'])
  expect(await barsOf(before)).toEqual(['old', 'z'])
  expect(await barsOf(host.current)).toEqual(['new', 'z'])
  await release()
})

test('without contributors there is nothing to gather, and undeclared use names the list to extend', async () => {
  const { host } = await boot({ album: GATHERER })
  expect(await barsOf(host.current)).toEqual([])
  const mute = { 'index.js': entry('mute', `scope.contribute(BARS, 1)`, { head: BARS }) }
  await bench?.close()
  bench = await createHostBench({ mute })
  await expect(bench.host.sync()).rejects.toThrow('contributes to bars: list it in "contributes"')
})
