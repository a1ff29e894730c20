import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handlesLeftBy } from '#test/kit/handles'
import { watchPlugins } from './watch.js'

test('the first look and each burst of changes are told once, also below a hidden folder; the signal ends it all', async () => {
  const home = await mkdtemp(join(tmpdir(), '.watch-'))
  const told = new EventTarget()
  let times = 0
  const next = () => once(told as never, 'change')
  const left = await handlesLeftBy(async () => {
    const ending = new AbortController()
    await mkdir(join(home, 'plugin/node_modules'), { recursive: true })
    const watching = watchPlugins({
      dirs: [home],
      intervalMs: 20,
      signal: ending.signal,
      onChange: () => {
        times += 1
        told.dispatchEvent(new Event('change'))
      },
    })
    // Told once when it stands: what was there by then is no change.
    await next()
    const before = times
    const change = next()
    await Promise.all(['a.js', 'b.js', 'c.js'].map(file => writeFile(join(home, 'plugin', file), 'x')))
    await change
    expect(times).toBe(before + 1)
    ending.abort()
    await watching
  })
  await rm(home, { recursive: true })
  expect(left).toEqual([])
})

test('a signal that has fired already starts no watch', async () => {
  await watchPlugins({ dirs: ['/nowhere'], intervalMs: 10, signal: AbortSignal.abort(), onChange: () => undefined })
})
