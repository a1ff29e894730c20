import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answeredBy } from '#test/kit/answered-by'
import { createClient } from '#test/kit/boot'
import { startChatServer } from '#test/kit/chat-server'
import { spawnDaemon } from '#test/kit/daemon-process'
import { writeProbePlugin } from '#test/kit/probe-plugin'
import { framesIn, idOf, openUnread, readStream } from '#test/kit/stream-reader'

export interface SlowReaderOptions {
  readonly readers: number
  readonly megabytes: number
  readonly stalledMs: number
}

export interface SlowReaderReport {
  readonly grownMegabytes: number
  readonly loggedMegabytes: number
  /** The healthy reader saw exactly the log. */
  readonly isHealthyWhole: boolean
  /** Readers whose connection had been cut when they began to read at last. */
  readonly cut: number
  /** Readers for which the rest, asked for from where they had been, made up exactly the log. */
  readonly resumedWhole: number
}

const PIECE_BYTES = 16_384

/** Floods readers that never read, beside one that does; then has the stalled ones read on. */
export async function flood({ readers, megabytes, stalledMs }: SlowReaderOptions): Promise<SlowReaderReport> {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-slow-'))
  const workspace = join(dir, 'workspace')
  await mkdir(workspace)
  const pieces = Math.ceil((megabytes * 1024 * 1024) / PIECE_BYTES)
  const model = await startChatServer({
    turns: [
      { toolCalls: [{ id: 'warm', name: 'flood', arguments: { pieces: 200, bytes: PIECE_BYTES } }] },
      { text: 'warm' },
      { toolCalls: [{ id: 'flood', name: 'flood', arguments: { pieces, bytes: PIECE_BYTES } }], delayMs: 1_500 },
      { text: 'done' },
    ],
  })
  const daemon = await spawnDaemon({
    home: dir,
    cwd: workspace,
    environment: answeredBy(model.baseUrl),
    streamStalledMs: stalledMs,
    settings: {
      addr: '127.0.0.1:0',
      workspace,
      watch_enabled: false,
      auth_disabled: true,
      log_level: 'error',
      run_db: join(dir, 'runs.db'),
      plugin_dirs: [await writeProbePlugin(dir)],
    },
  })
  const { run, start } = createClient(daemon.url)
  try {
    await run('warm up')
    const runId = await start('flood')
    const url = `${daemon.url}/v1/runs/${runId}/events`
    const before = await residentMegabytes(daemon.pid)
    const unread = await Promise.all(Array.from({ length: readers }, () => openUnread(url)))
    let peak = before
    let isOver = false
    const watching = (async () => {
      while (!isOver) {
        peak = Math.max(peak, await residentMegabytes(daemon.pid))
        await sleep(50)
      }
    })()
    const healthy = await readStream(url)
    // Longer than a reader may stall, counted from the end: whoever has not been cut by then never will be.
    await sleep(stalledMs * 1.5 + 500)
    isOver = true
    await watching
    const log = framesIn((await readStream(url)).bytes)
    let cut = 0
    let resumedWhole = 0
    for (const response of unread) {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      await new Promise(resolve => response.once('close', resolve).resume())
      if (!response.complete) cut += 1
      const seen = framesIn(Buffer.concat(chunks))
      const last = seen.at(-1)
      const rest = await readStream(url, { ...(last !== undefined && { lastEventId: idOf(last) }) })
      if (isSame([...seen, ...framesIn(rest.bytes)], log)) resumedWhole += 1
    }
    return {
      grownMegabytes: Math.round(peak - before),
      loggedMegabytes: Math.round(log.reduce((sum, frame) => sum + frame.length, 0) / 2 ** 20),
      isHealthyWhole: isSame(framesIn(healthy.bytes), log),
      cut,
      resumedWhole,
    }
  } finally {
    await daemon.kill()
    await model.close()
    await rm(dir, { recursive: true, force: true })
  }
}

const isSame = (seen: readonly string[], log: readonly string[]): boolean =>
  seen.length === log.length && seen.every((frame, index) => frame === log[index])

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
}
