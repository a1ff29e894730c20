import type { Sandbox } from '#contracts/sandbox'
import type { ToolContext, ToolResult } from '#contracts/tool/tool'
import { GLOBAL_OPTIONS, gitEnvironment, lookingOnly } from './harmless.js'

/** What one git command said. */
export interface GitAnswer {
  readonly kind: 'answered'
  /** -1 when it was stopped. */
  readonly exitCode: number
  readonly isTimedOut: boolean
  /** The output was longer than allowed; git was stopped there. */
  readonly isTruncated: boolean
  readonly output: string
  readonly complaint: string
}

export interface GitFailed {
  readonly kind: 'failed'
  readonly result: Extract<ToolResult, { readonly error: unknown }>
}

export const failed = (code: string, message: string): GitFailed => ({
  kind: 'failed',
  result: { error: { code, message } },
})

/** Runs git commands of one tool call. Ask once per call: the policy and the repository's filter drivers are looked up here. */
export type Git = (args: readonly string[], maxBytes: number) => Promise<GitAnswer | GitFailed>

const TIMEOUT_MS = 20_000
const MAX_COMPLAINT_BYTES = 4096
const MAX_DRIVERS = 200

export async function openGit(sandbox: Sandbox, context: ToolContext): Promise<Git> {
  const policy = lookingOnly(await context.sandboxPolicy())
  const run = (env: Readonly<Record<string, string>>) => (args: readonly string[], maxBytes: number) =>
    runOnce({ sandbox, policy, env, cwd: context.workspace.root, signal: context.signal }, args, maxBytes)
  const listing = ['config', '--includes', '-z', '--name-only', '--get-regexp', '^filter\\..*']
  const configured = await run(gitEnvironment([]))(listing, 256 * 1024)
  if (configured.kind === 'failed') return async () => configured
  const drivers = driversIn(configured.output)
  if (drivers.length > MAX_DRIVERS || configured.isTruncated)
    return async () =>
      failed('hostile_repository', 'The repository configures an absurd number of filters; it is not looked at.')
  return run(gitEnvironment(drivers))
}

/** `filter.<driver>.<key>`, where a driver may itself hold dots. */
const driversIn = (listing: string): readonly string[] => [
  ...new Set(
    listing
      .split('\0')
      .map(key => key.slice('filter.'.length, key.lastIndexOf('.')))
      .filter(driver => driver !== ''),
  ),
]

interface Place {
  readonly sandbox: Sandbox
  readonly policy: Parameters<Sandbox['run']>[1]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly signal: AbortSignal
}

async function runOnce(place: Place, args: readonly string[], maxBytes: number): Promise<GitAnswer | GitFailed> {
  const full = new AbortController()
  const said = { stdout: new Beginning(maxBytes), stderr: new Beginning(MAX_COMPLAINT_BYTES) }
  const exit = await place.sandbox.run(
    {
      argv: ['git', ...GLOBAL_OPTIONS, ...args],
      cwd: place.cwd,
      env: place.env,
      timeoutMs: TIMEOUT_MS,
      onOutput(chunk, stream) {
        said[stream].add(chunk)
        if (said.stdout.isFull) full.abort()
      },
    },
    place.policy,
    AbortSignal.any([place.signal, full.signal]),
  )
  place.signal.throwIfAborted()
  if (exit.kind === 'refused') return failed('sandbox_refused', exit.reason)
  return {
    kind: 'answered',
    exitCode: exit.kind === 'exited' ? exit.code : said.stdout.isFull ? 0 : -1,
    isTimedOut: exit.kind === 'timed_out',
    isTruncated: said.stdout.isFull,
    output: said.stdout.text(),
    complaint: said.stderr.text(),
  }
}

/** The beginning of an output; what comes after `limit` bytes is not kept. */
class Beginning {
  readonly #chunks: Uint8Array[] = []
  #total = 0
  isFull = false

  constructor(readonly limit: number) {}

  add(chunk: Uint8Array): void {
    const kept = chunk.subarray(0, this.limit - this.#total)
    // The chunk's memory is the sandbox's again when this returns.
    if (kept.length > 0) this.#chunks.push(Uint8Array.from(kept))
    this.#total += kept.length
    if (kept.length < chunk.length) this.isFull = true
  }

  text(): string {
    const text = new TextDecoder().decode(Buffer.concat(this.#chunks))
    return this.isFull ? text.replace(/\ufffd$/, '') : text
  }
}
