import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { pluginFiles } from '#kernel/cli/scaffold/plugin-files'
import { checkPlugin } from './check-plugin.js'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

/** A plugin folder outside the package, as a third party has it. */
async function folderWith(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'runwright-check-'))
  folders.push(parent)
  const dir = join(parent, name)
  await mkdir(dir)
  for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), text)
  return dir
}

const failed = (cases: readonly { readonly name: string; readonly error?: string }[]) =>
  cases.filter(({ error }) => error !== undefined).map(({ name }) => name)

test('a plugin as "plugin new" writes it keeps the contract, from TypeScript and from anywhere', async () => {
  const { plugin, cases } = await checkPlugin(await folderWith('word-count', pluginFiles('word-count')))
  expect({ plugin, failed: failed(cases), isMany: cases.length > 5 }).toEqual({
    plugin: 'word-count',
    failed: [],
    isMany: true,
  })
})

test('what is wrong with a plugin is named, case by case', async () => {
  const files = pluginFiles('word-count')
  const ticking = `${files['index.ts']}`.replace(
    'register(scope) {',
    'register(scope) {\n    setInterval(() => {}, 1e6).unref()',
  )
  const { cases } = await checkPlugin(await folderWith('word-count', { ...files, 'index.ts': ticking }))
  expect(failed(cases)).toEqual([
    'registering starts no timer, server or watch',
    'opening, starting and closing it 10 times leaves no handle and no complaint',
  ])
})

test.each([
  ['no entry', {}, 'there is no index.js or index.ts'],
  ['a syntax error', { 'index.ts': 'export const plugin = {' }, 'index.ts:1:'],
  ['another name', pluginFiles('other-name'), 'other-name'],
])('a folder with %s fails to load, and nothing else is tried', async (_what, files, says) => {
  const { cases } = await checkPlugin(await folderWith('word-count', files))
  expect(cases).toEqual([{ name: 'it is loaded as a daemon loads it', error: expect.stringContaining(says) }])
})
