import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ActiveRun } from '#contracts/run/active-run'
import type { Sandbox, SandboxCommand, SandboxExit, SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'
import type { ToolContext } from '#contracts/tool/tool'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { describePlugin } from '#test/kit/describe-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { createBashTool } from './bash-tool.js'
import { Capture } from './capture.js'
import { plugin } from './index.js'
import { createJobTable } from './job-table.js'
import { JobTraces } from './job-traces.js'
import { LiveOutput } from './live-output.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

const JOBS = { table: createJobTable(), traces: new JobTraces(createMemoryRecords()) }
const CONFIG = { default_timeout_seconds: 30, captured_bytes: 1024, streamed_bytes: 4096 }
let root = ''
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'shell-test-'))
  mkdirSync(join(root, 'sub'))
  symlinkSync('/', join(root, 'way-out'))
})
afterAll(() => rmSync(root, { recursive: true }))

/** What the tool asks of the port is the subject here; the real sandbox has suites of its own. */
function recordingSandbox(exit: SandboxExit | SandboxRefusal, chunks: readonly Uint8Array[] = []) {
  const seen: { command: SandboxCommand; policy: SandboxPolicy }[] = []
  const sandbox: Sandbox = {
    name: 'recording',
    check: async () => undefined,
    async run(command, policy) {
      seen.push({ command, policy })
      for (const chunk of chunks) await command.onOutput(chunk, 'stdout')
      return exit
    },
  }
  return { sandbox, seen }
}

function contextOf(shown: string[] = []): ToolContext {
  const policy: SandboxPolicy = { scope: 'workspace', network: 'deny', root, extraDirs: [], hiddenPaths: [] }
  return {
    run: { id: 'run_1' } as ActiveRun,
    callId: 'call_1',
    workspace: { root, extraDirs: [] },
    signal: new AbortController().signal,
    output(text) {
      shown.push(text)
      return undefined
    },
    sandboxPolicy: async () => policy,
  }
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe('bash', () => {
  test('answers with the exit code, the output and the sandbox it ran in', async () => {
    const { sandbox, seen } = recordingSandbox({ kind: 'exited', code: 3 }, [bytes('hello\n')])
    const shown: string[] = []
    const result = await createBashTool(sandbox, CONFIG, JOBS).execute(
      { command: 'true', working_dir: 'sub' },
      contextOf(shown),
    )
    expect(result).toEqual({
      output: {
        command: 'true',
        exit_code: 3,
        timed_out: false,
        output: 'hello\n',
        working_dir: join(root, 'sub'),
        sandbox: { scope: 'workspace', network: 'deny' },
      },
    })
    expect(shown.join('')).toBe('hello\n')
    expect(seen[0]?.command).toMatchObject({ argv: ['bash', '-c', '--', 'true'], session: 'run_1', timeoutMs: 30_000 })
    expect(seen[0]?.command.env).toBeUndefined()
  })

  test('a time-out is told with what came before it', async () => {
    const { sandbox } = recordingSandbox({ kind: 'timed_out' }, [bytes('so far')])
    const result = await createBashTool(sandbox, CONFIG, JOBS).execute(
      { command: 'sleep 9', timeout_seconds: 1 },
      contextOf(),
    )
    expect(result).toMatchObject({ output: { timed_out: true, exit_code: -1, output: 'so far' } })
  })

  test('no call gets more than 300 seconds', async () => {
    const { sandbox, seen } = recordingSandbox({ kind: 'exited', code: 0 })
    await createBashTool(sandbox, CONFIG, JOBS).execute({ command: 'true', timeout_seconds: 3000 }, contextOf())
    expect(seen[0]?.command.timeoutMs).toBe(300_000)
  })

  test.each(['..', '/', 'way-out', 'none', 'sub/../..', 'a\0b'])('refuses to work in %j', async working_dir => {
    const { sandbox, seen } = recordingSandbox({ kind: 'exited', code: 0 })
    const result = await createBashTool(sandbox, CONFIG, JOBS).execute({ command: 'true', working_dir }, contextOf())
    expect([result, seen]).toEqual([{ error: expect.stringContaining('inside the workspace') }, []])
  })

  test('refuses every call without a sandbox, also in the background', async () => {
    for (const run_in_background of [false, true]) {
      const tool = createBashTool(undefined, CONFIG, JOBS)
      const result = await tool.execute({ command: 'true', run_in_background }, contextOf())
      expect(result).toEqual({ error: expect.stringContaining('bubblewrap') })
    }
  })

  test('hands on why the sandbox refused', async () => {
    const { sandbox } = recordingSandbox({ kind: 'refused', reason: 'install it' })
    expect(await createBashTool(sandbox, CONFIG, JOBS).execute({ command: 'true' }, contextOf())).toEqual({
      error: 'install it',
    })
  })

  test('a flood is captured with both ends and shown up to its limit', async () => {
    const flood = Array.from({ length: 20_000 }, (_, index) => bytes(`line ${index}\n`))
    const { sandbox } = recordingSandbox({ kind: 'exited', code: 0 }, flood)
    const shown: string[] = []
    const result = await createBashTool(sandbox, CONFIG, JOBS).execute({ command: 'seq' }, contextOf(shown))
    const { output, truncated } =
      'output' in result ? (result.output as { output: string; truncated: boolean }) : never()
    expect(truncated).toBe(true)
    expect(output).toMatch(/^line 0\nline 1\n[\s\S]*bytes left out[\s\S]*line 19998\nline 19999\n$/)
    expect(shown.join('').length).toBeLessThan(CONFIG.streamed_bytes + 100)
    expect(shown.length).toBeLessThan(20)
    expect(shown.at(-1)).toContain('more output follows')
  })
})

const never = (): never => {
  throw new Error('unreachable')
}

describe('captured output', () => {
  test.each([1, 2, 3, 5, 7, 64, 4096])('in pieces of %d bytes keeps both ends and cuts no character', size => {
    const text = 'aä€😀'.repeat(500)
    const all = bytes(text)
    const capture = new Capture(101)
    for (let at = 0; at < all.length; at += size) capture.add(all.subarray(at, at + size))
    const [, head = '', missing, tail = ''] =
      capture.text().match(/^(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)$/s) ?? []
    expect([text.startsWith(head), text.endsWith(tail), capture.text().includes('�')]).toEqual([true, true, false])
    expect(bytes(head).length + Number(missing) + bytes(tail).length).toBe(all.length)
    expect(bytes(head).length).toBeGreaterThan(45)
  })

  test.each([0, 1, 50, 51, 100, 101])('of %d bytes comes back whole', length => {
    const capture = new Capture(101)
    for (let at = 0; at < length; at++) capture.add(bytes(String(at % 10)))
    expect([capture.text().length, capture.isTruncated]).toEqual([length, false])
  })
})

describe('live output', () => {
  test('joins characters cut between chunks and gathers what comes quickly', async () => {
    const shown: string[] = []
    const live = new LiveOutput(text => void shown.push(text), 10_000)
    for (const byte of bytes('ä€😀'.repeat(300))) await live.add(Uint8Array.of(byte))
    await live.end()
    expect(shown.join('')).toBe('ä€😀'.repeat(300))
    expect(shown.length).toBeLessThan(10)
  })

  test('makes the command wait for a slow reader, and keeps the order', async () => {
    const shown: string[] = []
    const waiting: (() => void)[] = []
    const slow = (text: string) =>
      new Promise<void>(done => {
        shown.push(text)
        waiting.push(done)
      })
    const live = new LiveOutput(slow, 100_000)
    const first = live.add(bytes('a'.repeat(5000)))
    const second = live.add(bytes('b'.repeat(5000)))
    expect([first, second].every(promise => promise instanceof Promise)).toBe(true)
    expect(shown).toHaveLength(1)
    waiting.shift()?.()
    await first
    waiting.shift()?.()
    await second
    expect(shown.map(text => text[0])).toEqual(['a', 'b'])
  })

  test('shows a lone piece of output soon, without another one coming', async () => {
    const shown: string[] = []
    const second = new Promise<void>(done => {
      const live = new LiveOutput(text => {
        shown.push(text)
        if (shown.length === 2) done()
        return undefined
      }, 1000)
      live.add(bytes('one'))
      live.add(bytes('two'))
    })
    await second
    expect(shown).toEqual(['one', 'two'])
  })
})
