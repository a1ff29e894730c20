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
const pack = () =>
  node(
    `const { packProgram } = await import(${JSON.stringify(pathToFileURL(join(root, 'pack.mjs')).href)}); await packProgram(process.cwd())`,
  )
const lateParts = () => readdirSync(join(root, 'dist/program')).filter(file => file.startsWith('late-'))
let before: unknown
let earlier: readonly string[] = []

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
  const late = `import { isShared } from './part.js'\nexport const late = async () =>
    isShared((await import('#contracts/shared')).Shared)`
  const main = `#!/usr/bin/env node
import { dir } from '#config/index'
export const main = async () => ({ dir, isShared: await (await import('./late.js')).late(), at: import.meta.url })`
  write('dist/kernel/late.js', `${late} && 'earlier'`)
  write('dist/kernel/main.js', main)
  cpSync(join(ours, 'config/launch/pack.mjs'), join(root, 'pack.mjs'))
  pack()
  earlier = lateParts()
  write('dist/kernel/late.js', late)
  write('dist/kernel/main.js', main)
  before = JSON.parse(node(print))
  pack()
}, 60_000)
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('the packed program has its late parts in files of their own and reads none of those it was compiled to', () => {
  expect(lateParts().length).toBeGreaterThan(0)
  for (const folder of ['dist/config/index.js', 'dist/kernel/part.js', 'dist/kernel/late.js'])
    rmSync(join(root, folder))
  expect(JSON.parse(node(print))).toEqual(before)
})

test('the packed program is still a program, and shares its contracts', () => {
  expect(readFileSync(join(root, 'dist/kernel/main.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  expect(JSON.parse(node(print))).toMatchObject({ isShared: true })
})

test('a program that is running goes on finding its late parts when the next one is packed', () => {
  expect(earlier).toHaveLength(1)
  expect(lateParts()).toHaveLength(2)
  const late = `const { late } = await import('./dist/program/${earlier[0]}'); console.log(await late())`
  expect(node(late)).toBe('earlier\n')
})

test('of earlier programs no more than some hundred files stay', () => {
  for (let number = 0; number < 600; number++) write(`dist/program/old-${number}.js`, '')
  write('dist/config/index.js', `export const dir = ''`)
  write('dist/kernel/main.js', `import { dir } from '#config/index'\nexport const main = async () => ({ dir })`)
  pack()
  const files = readdirSync(join(root, 'dist/program'))
  expect(files.filter(file => file.startsWith('old-')).length).toBeGreaterThan(400)
  expect(files.length).toBeLessThanOrEqual(501)
})
