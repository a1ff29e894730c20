import { type ChildProcess, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FileAccess } from '#contracts/workspace-files'
import { createConfinedFiles } from './confined-files.js'

const files = createConfinedFiles({ hidden_names: [], protected_names: [], protected_paths: [] })
const ATTACK_MS = 2500
/** Swaps a folder and a file of the workspace with links that lead out, as fast as it can; repairs what the victim made. */
const ATTACKER = `
const { renameSync: mv, rmSync, mkdirSync, writeFileSync, symlinkSync } = require('node:fs')
process.chdir(process.argv[1])
const setUp = () => {
  for (const name of ['dir', 'dir-link', 'file', 'file-link', 'tmp']) rmSync(name, { recursive: true, force: true })
  mkdirSync('dir'); writeFileSync('dir/f', 'inside'); writeFileSync('file', 'inside')
  symlinkSync('../outside', 'dir-link'); symlinkSync('../outside/f', 'file-link')
}
const swap = (real, link) => { mv(real, 'tmp'); mv(link, real); mv(real, link); mv('tmp', real) }
setUp(); process.stdout.write('on')
for (;;) try { swap('dir', 'dir-link'); swap('file', 'file-link') } catch { try { setUp() } catch {} }`

/** Swaps a whole root with a link to another directory. */
const ROOT_ATTACKER = `
const { renameSync: mv } = require('node:fs')
process.chdir(process.argv[1])
process.stdout.write('on')
for (;;) { mv('root', 'tmp'); mv('root-link', 'root'); mv('root', 'root-link'); mv('tmp', 'root') }`

let base: string
let access: FileAccess
let attacker: ChildProcess

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'swap-')))
  for (const folder of ['ws', 'outside']) mkdirSync(join(base, folder))
  writeFileSync(join(base, 'outside/f'), 'OUTSIDE')
  writeFileSync(join(base, 'outside/only-outside'), '')
  access = { root: join(base, 'ws'), extraDirs: [] }
  attacker = spawn(process.execPath, ['-e', ATTACKER, join(base, 'ws')], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise(resolve => attacker.stdout?.once('data', resolve))
})
afterEach(async () => {
  const exit = new Promise(resolve => attacker.once('exit', resolve))
  attacker.kill('SIGKILL')
  await exit
  rmSync(base, { recursive: true, force: true, maxRetries: 5 })
})

async function forAWhile(attempt: () => Promise<string>): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  const end = performance.now() + ATTACK_MS
  while (performance.now() < end) {
    const outcome = await attempt()
    seen[outcome] = (seen[outcome] ?? 0) + 1
  }
  expect(attacker.exitCode).toBeNull()
  return seen
}

const NAMES = ['dir/f', 'file']
let turn = 0
const next = () => NAMES[turn++ % NAMES.length] ?? ''

test('the attack works against a reader that checks the real path and then opens', async () => {
  const seen = await forAWhile(async () => {
    const path = join(base, 'ws', next())
    try {
      if (!(await realpath(path)).startsWith(`${base}/ws/`)) return 'refused'
      return await readFile(path, 'utf8')
    } catch {
      return 'error'
    }
  })
  expect(seen.OUTSIDE).toBeGreaterThan(0)
})

test('reading through descriptors never shows a byte from outside', async () => {
  const seen = await forAWhile(async () => {
    const found = await files.read(access, next(), 1000)
    return found.kind === 'content' ? new TextDecoder().decode(found.bytes) : found.code
  })
  expect(seen.OUTSIDE).toBeUndefined()
  expect(seen.inside).toBeGreaterThan(0)
  expect(seen.outside_workspace).toBeGreaterThan(0)
})

test('writing, removing and listing through descriptors never touch anything outside', async () => {
  const text = new TextEncoder().encode('inside')
  const seen = await forAWhile(async () => {
    const outcome = await files.replace(access, next(), text)
    await files.replace(access, 'dir/new/g', text)
    await files.remove(access, 'dir/new/g')
    for await (const entry of files.walk(access, 'dir', { depth: 3 }, AbortSignal.timeout(5000)))
      if ('relative' in entry && entry.relative === 'only-outside') return 'ESCAPE'
    return outcome.kind === 'written' ? 'written' : outcome.code
  })
  expect(readdirSync(join(base, 'outside'))).toEqual(['f', 'only-outside'])
  expect(readFileSync(join(base, 'outside/f'), 'utf8')).toBe('OUTSIDE')
  expect(seen.ESCAPE).toBeUndefined()
  expect(seen.written).toBeGreaterThan(0)
})

test('a pinned root that is swapped for a link is never followed', async () => {
  const other = join(base, 'root')
  mkdirSync(other)
  writeFileSync(join(other, 'f'), 'inside')
  symlinkSync('outside', join(base, 'root-link'))
  const swapper = spawn(process.execPath, ['-e', ROOT_ATTACKER, base], { stdio: ['ignore', 'pipe', 'ignore'] })
  await new Promise(resolve => swapper.stdout?.once('data', resolve))
  const by = { root: other, extraDirs: [], isPinned: true }
  const seen = await forAWhile(async () => {
    const found = await files.read(by, 'f', 1000)
    await files.replace(by, 'new', new TextEncoder().encode('inside'))
    return found.kind === 'content' ? new TextDecoder().decode(found.bytes) : found.code
  })
  swapper.kill('SIGKILL')
  expect(readdirSync(join(base, 'outside'))).toEqual(['f', 'only-outside'])
  expect(seen.OUTSIDE).toBeUndefined()
  expect(seen.inside).toBeGreaterThan(0)
  expect(seen.outside_workspace).toBeGreaterThan(0)
})
