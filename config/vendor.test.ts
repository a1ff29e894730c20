import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

// A small product of its own, compiled by hand, with our packages.
const ours = resolve(import.meta.dirname, '../..')
const root = mkdtempSync(join(ours, 'dist/vendor-test-'))
const write = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), text)
}
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const SOURCE = `import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { AsyncSeriesHook } from 'tapable'
import { join } from 'node:path'
export const schema = Type.Object({ name: Type.String() })
export const check = other => [Value.Check(other, { name: 'x' }), Value.Check(other, { name: 1 })]
export const lazy = async () => typeof (await import('fastify')).default
export const text = [typeof AsyncSeriesHook, join('a', 'b')]
export const template = \`
import { Type } from '@sinclair/typebox'
import { SyncHook } from 'tapable'
\`
`

beforeAll(async () => {
  symlinkSync(join(ours, 'node_modules'), join(root, 'node_modules'))
  const { dependencies } = JSON.parse(readFileSync(join(ours, 'package.json'), 'utf8'))
  write('package.json', JSON.stringify({ type: 'module', imports: { '#vendor/*': './dist/vendor/*' }, dependencies }))
  write('dist/kernel/some.js', SOURCE)
  write('dist/kernel/some.test.js', SOURCE)
  cpSync(join(ours, 'config/launch/vendor.mjs'), join(root, 'vendor.mjs'))
  const call = `const { vendor } = await import(${JSON.stringify(pathToFileURL(join(root, 'vendor.mjs')).href)}); await vendor(process.cwd())`
  execFileSync(process.execPath, ['--input-type=module', '-e', call], { cwd: root, stdio: 'inherit' })
}, 60_000)
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('compiled code imports the packages of a start from one file each, and nothing else changes', () => {
  expect(read('dist/kernel/some.js').match(/(?<=from '|import\(')[^']+/g)).toEqual([
    '#vendor/sinclair-typebox.js',
    '#vendor/sinclair-typebox-value.js',
    '#vendor/tapable.js',
    'node:path',
    '#vendor/fastify.js',
    '@sinclair/typebox',
    'tapable',
  ])
  expect(read('dist/kernel/some.test.js')).toBe(SOURCE)
})

test('schemas of the published package and of the one file pass for each other', async () => {
  const print = `
    const mine = await import('./dist/kernel/some.js')
    const theirs = await import('./dist/kernel/some.test.js')
    console.log(JSON.stringify([mine.check(theirs.schema), theirs.check(mine.schema), mine.schema === theirs.schema, await mine.lazy(), mine.text[0]]))`
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', print], { cwd: root, encoding: 'utf8' })
  expect(JSON.parse(out)).toEqual([[true, false], [true, false], false, 'function', 'function'])
})
