// Starts what package.json's scripts name, after doing the set-up that is not up to date. Plain JavaScript on Node alone:
// it runs before anything is installed or compiled.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compile } from './launch/compile.mjs'
import { install } from './launch/install.mjs'
import { Stop, say, spawnThrough } from './launch/process.mjs'
import { requireSandbox } from './launch/system.mjs'

const root = resolve(import.meta.dirname, '..')
const OLDEST_NODE = [20, 19]

/** A package's program, run by this very Node. */
const tool = path => [process.execPath, join(root, 'node_modules', path)]
const biome = tool('@biomejs/biome/bin/biome')
const tsc = tool('typescript/bin/tsc')
const vitest = tool('vitest/vitest.mjs')

const prepare = async () => {
  await install(root)
  await compile(root)
}

const check = async () => {
  await prepare()
  await spawnThrough([...biome, 'ci'], { cwd: root, title: 'format and lint' })
  await spawnThrough([...tsc, '-p', '.', '--noEmit'], { cwd: root, title: 'types' })
  await spawnThrough([...vitest, 'run', 'dist/test/architecture.test.js'], { cwd: root, title: 'architecture' })
}

const tests = (lane, args) =>
  spawnThrough([...vitest, 'run', ...args], { cwd: root, title: `${lane} tests`, env: { RUNWRIGHT_LANE: lane } })

/** Runs `main(args)` of a compiled file in this process: no second Node to wait for, and signals arrive as they are. */
const runInProcess = async (file, args) => {
  const path = join(root, 'dist', file)
  if (!existsSync(path))
    throw new Stop(`${path} is missing although the sources are compiled; is its source file there?`)
  const { main } = await import(pathToFileURL(path).href)
  const code = await main(args)
  if (typeof code === 'number') process.exitCode = code
}

const COMMANDS = {
  start: async args => {
    await prepare()
    await runInProcess('kernel/main.js', ['serve', ...args])
  },
  demo: async args => {
    await prepare()
    await requireSandbox()
    await runInProcess('examples/demo.js', args)
  },
  bench: async args => {
    await prepare()
    await requireSandbox()
    await runInProcess('test/bench/main.js', args)
  },
  build: prepare,
  check,
  test: async args => {
    await check()
    await requireSandbox()
    await tests('merge', args)
  },
  'test:nightly': async args => {
    await prepare()
    await requireSandbox()
    await tests('nightly', args)
  },
  'test:soak': async args => {
    await prepare()
    await requireSandbox()
    await tests('soak', args)
  },
}

const requireNode = () => {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  throw new Stop(
    `this is Node ${process.versions.node}; runwright needs ${OLDEST_NODE.join('.')} or newer. See https://nodejs.org/`,
  )
}

try {
  requireNode()
  const [name, ...args] = process.argv.slice(2)
  if (!Object.hasOwn(COMMANDS, name ?? ''))
    throw new Stop(`usage: node config/launch.mjs ${Object.keys(COMMANDS).join(' | ')}`)
  await COMMANDS[name](args)
} catch (error) {
  if (!(error instanceof Stop)) throw error
  if (error.message !== '') say(error.message)
  process.exitCode = error.code
}
