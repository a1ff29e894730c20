/**
 * Reloads one plugin among twenty of a real daemon in this process, again and again, and reports to the parent. Forked
 * by the bench with `--expose-gc`: `reload-process.js <scratch directory> <reloads>`.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundledPlugins, createDaemon } from '#kernel/index'
import { median } from './statistics.js'

/** What the process reports. */
export interface ReloadReport {
  readonly p50Ms: number
  readonly heapKbPerReload: number
  readonly epochsAlive: number
  readonly plugins: number
}

const PLUGINS = 20
/** Reloads before the heap is first looked at: caches fill once. */
const WARM_UP = 20
const silent = (): void => undefined

const [dir = '', reloadsText] = process.argv.slice(2)
const reloads = Number(reloadsText)
const pluginDir = join(dir, 'plugins')
const collectGarbage = (globalThis as { readonly gc?: () => void }).gc ?? silent

/** A plugin with a tool whose answer tells which text of it is loaded. */
const writePlugin = async (name: string, generation: number): Promise<void> => {
  await mkdir(join(pluginDir, name), { recursive: true })
  await writeFile(
    join(pluginDir, name, 'index.ts'),
    `import { definePlugin } from '#contracts/plugin'
import { Type } from '@sinclair/typebox'
import { answer } from './answer.js'
export const plugin = definePlugin({
  name: '${name}',
  config: Type.Object({}),
  register(scope) {
    scope.tool({
      name: '${name.replaceAll('-', '_')}', description: 'Answers.', parameters: Type.Object({}),
      isReadOnly: true, execute: async () => ({ output: answer }),
    } as never)
  },
})
`,
  )
  await writeFile(join(pluginDir, name, 'answer.ts'), `export const answer: string = 'generation ${generation}'\n`)
}

const own = Math.max(1, PLUGINS - (await bundledPlugins()).length)
for (let index = 0; index < own; index++) await writePlugin(`bench-${index}`, 0)
await mkdir(join(dir, 'workspace'), { recursive: true })
const daemon = await createDaemon({
  home: dir,
  cwd: join(dir, 'workspace'),
  log: { debug: silent, info: silent, warn: silent, error: silent },
  environment: { OPENAI_BASE_URL: 'http://127.0.0.1:9', OPENAI_API_KEY: 'bench', SVC_LIVE_MODELS: 'false' },
  settings: {
    addr: '127.0.0.1:0',
    workspace: join(dir, 'workspace'),
    plugin_dirs: [pluginDir],
    watch_enabled: false,
    auth_disabled: true,
    run_db: join(dir, 'runs.db'),
    conversation_db: join(dir, 'conversations.db'),
  },
})

const heapAfterGc = async (): Promise<number> => {
  // Retired epochs let go in later ticks, and what a finaliser frees is only seen by the next collection.
  for (let pass = 0; pass < 4; pass++) {
    collectGarbage()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}

const generationOf = (): unknown => JSON.stringify(daemon.host.plugins().find(({ name }) => name === 'bench-0'))

const walls: number[] = []
let heapBefore = await heapAfterGc()
for (let reload = 1; reload <= WARM_UP + reloads; reload++) {
  if (reload === WARM_UP + 1) heapBefore = await heapAfterGc()
  const before = generationOf()
  await writePlugin('bench-0', reload)
  const startedAt = performance.now()
  await daemon.sync()
  if (reload > WARM_UP) walls.push(performance.now() - startedAt)
  if (generationOf() === before) throw new Error(`reload ${reload} changed nothing: ${before}`)
}
const heapAfter = await heapAfterGc()
const report: ReloadReport = {
  p50Ms: median(walls),
  heapKbPerReload: (heapAfter - heapBefore) / 1024 / reloads,
  epochsAlive: daemon.host.epochsAlive,
  plugins: daemon.host.plugins().length,
}
process.send?.(report)
await daemon.stop()
process.exit(0)
