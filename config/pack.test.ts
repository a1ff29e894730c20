import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

// A small product of its own, compiled by hand.
const ours = resolve(import.meta.dirname, '../..')
const root = mkdtempSync(join(ours, 'dist/pack-test-'))
const write = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}
const node = (code: string) =>
  execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: root, encoding: 'utf8' })
const print = `const { main } = await import('./dist/kernel/main.js'); console.log(JSON.stringify(await main()))`
let before: unknown

beforeAll(() => {
  symlinkSync(join(ours, 'node_modules'), join(root, 'node_modules'))
  const imports = { '#contracts/*': './dist/contracts/*.js', '#config/*': './dist/config/*.js' }
  write('package.json', JSON.stringify({ type: 'module', imports }))
  write('dist/contracts/shared.js', `export class Shared {}`)
  write('dist/config/index.js', `export const dir = new URL('../../', import.meta.url).pathname`)
  write(
    'dist/kernel/part.js',
    `import { Shared } from '#contracts/shared'\nexport const isShared = of => of === Shared`,
  )
  write(
    'dist/kernel/late.js',
    `import { isShared } from './part.js'\nexport const late = async () =>
    isShared((await import('#contracts/shared')).Shared)`,
  )
  write(
    'dist/kernel/main.js',
    `#!/usr/bin/env node
import { dir } from '#config/index'
export const main = async () => ({ dir, isShared: await (await import('./late.js')).late(), at: import.meta.url })`,
  )
  before = JSON.parse(node(print))
  cpSync(join(ours, 'config/launch/pack.mjs'), join(root, 'pack.mjs'))
  node(
    `const { packProgram } = await import(${JSON.stringify(pathToFileURL(join(root, 'pack.mjs')).href)}); await packProgram(process.cwd())`,
  )
}, 60_000)
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('the packed program has its late parts in files of their own and reads none of those it was compiled to', () => {
  expect(readdirSync(join(root, 'dist/program')).some(file => file.startsWith('late-'))).toBe(true)
  for (const folder of ['dist/config/index.js', 'dist/kernel/part.js', 'dist/kernel/late.js'])
    rmSync(join(root, folder))
  expect(JSON.parse(node(print))).toEqual(before)
})

test('the packed program is still a program, and shares its contracts', () => {
  expect(readFileSync(join(root, 'dist/kernel/main.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  expect(JSON.parse(node(print))).toMatchObject({ isShared: true })
})
