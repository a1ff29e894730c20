import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import type { Sandbox } from '#contracts/sandbox'
import { defineTool, type ToolContext, type ToolResult, type WorkspaceRoots } from '#contracts/tool/tool'
import { Capture } from './capture.js'
import type { ShellConfig } from './config.js'
import { type JobTable, newJob, startJob } from './job-table.js'
import type { JobTraces } from './job-traces.js'
import { LiveOutput } from './live-output.js'

const FOREGROUND_SECONDS = 300
const BACKGROUND_SECONDS = 3600

const BashArguments = Type.Object({
  command: Type.String({ minLength: 1, maxLength: 100_000, description: 'What `bash -c` runs.' }),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'After this many seconds the command is killed. Default 30; at most 300, in the background at most 3600.',
    }),
  ),
  working_dir: Type.Optional(
    Type.String({ maxLength: 4096, description: 'Directory inside the workspace. Default: its root.' }),
  ),
  run_in_background: Type.Optional(
    Type.Boolean({
      description:
        'Return a shell_id at once and go on. Look with job_output, end it with job_kill. Set timeout_seconds.',
    }),
  ),
  description: Type.Optional(Type.String({ maxLength: 1000, description: 'What the command is for, in a few words.' })),
})
type BashArguments = Static<typeof BashArguments>

const DESCRIPTION = `Runs a command with bash in the workspace and returns its exit code and output (stdout and stderr together).
Each call is a fresh shell: no directory, variable or process is carried over, but files are, /tmp included. There is no
terminal and no input. What the command leaves running is ended when it returns; for servers and long work use run_in_background. Long output keeps its
beginning and its end; write to a file what you need in full.`

/** Where background jobs are kept, and where their traces. */
export interface Jobs {
  readonly table: JobTable
  readonly traces: JobTraces
}

/** The tool `bash`. Without a sandbox every call is refused: nothing ever runs unconfined by accident. */
export const createBashTool = (sandbox: Sandbox | undefined, config: ShellConfig, jobs: Jobs) =>
  defineTool({
    name: 'bash',
    description: DESCRIPTION,
    parameters: BashArguments,
    action: 'execute',
    tags: ['shell', 'command', 'terminal'],
    subject: ({ command }) => ({ text: command }),
    async execute(args, context): Promise<ToolResult> {
      if (!sandbox)
        return {
          error:
            'Commands cannot run: no sandbox is installed. Enable the plugin `bubblewrap`, or another one that provides `sandbox`.',
        }
      const cwd = directoryInside(context.workspace, args.working_dir)
      if (!cwd) return { error: `working_dir must be an existing directory inside the workspace: ${args.working_dir}` }
      const start = args.run_in_background ? runInBackground : runCommand
      return start({ sandbox, config, jobs }, args, cwd, context)
    },
  })

interface Shell {
  readonly sandbox: Sandbox
  readonly config: ShellConfig
  readonly jobs: Jobs
}

async function runInBackground(
  { sandbox, config, jobs: { table, traces } }: Shell,
  { command, timeout_seconds = config.default_timeout_seconds }: BashArguments,
  cwd: string,
  { run, signal, sandboxPolicy }: ToolContext,
): Promise<ToolResult> {
  const policy = await sandboxPolicy()
  // Nobody waits for the job, so a sandbox that cannot be had is told now.
  const refusal = await sandbox.check(policy)
  if (refusal) return { error: refusal.reason }
  signal.throwIfAborted()
  const { id: runId, tenantId, conversationId } = run
  const job = newJob({ tenantId, conversationId, runId, command, cwd })
  await traces.leave(job, table.id)
  try {
    signal.throwIfAborted()
    const timeoutMs = Math.min(timeout_seconds, BACKGROUND_SECONDS) * 1000
    startJob(table, sandbox, { ...job, timeoutMs, capturedBytes: config.captured_bytes, policy, signal })
  } catch (error) {
    await traces.remove(tenantId, job.id)
    throw error
  }
  return { output: { shell_id: job.id, started: true, command, working_dir: cwd } }
}

async function runCommand(
  { sandbox, config }: Shell,
  { command, timeout_seconds = config.default_timeout_seconds }: BashArguments,
  cwd: string,
  context: ToolContext,
): Promise<ToolResult> {
  const policy = await context.sandboxPolicy()
  const capture = new Capture(config.captured_bytes)
  const live = new LiveOutput(text => context.output(text), config.streamed_bytes)
  try {
    const exit = await sandbox.run(
      {
        argv: ['bash', '-c', '--', command],
        cwd,
        mergesOutput: true,
        session: context.run.id,
        timeoutMs: Math.min(timeout_seconds, FOREGROUND_SECONDS) * 1000,
        onOutput(chunk) {
          capture.add(chunk)
          return live.add(chunk)
        },
      },
      policy,
      context.signal,
    )
    if (exit.kind === 'refused') return { error: exit.reason }
    if (exit.kind === 'aborted') return { error: 'The command was stopped because the run was.' }
    await live.end()
    return {
      output: {
        command,
        exit_code: exit.kind === 'exited' ? exit.code : -1,
        timed_out: exit.kind === 'timed_out',
        output: capture.text(),
        working_dir: cwd,
        ...(capture.isTruncated ? { truncated: true } : {}),
        sandbox: { scope: policy.scope, network: policy.network },
      },
    }
  } finally {
    live.drop()
  }
}

/** The real path of a directory that lies beneath one of the roots, links followed; the sandbox checks it again. */
function directoryInside({ root, extraDirs }: WorkspaceRoots, dir = '.'): string | undefined {
  const path = realDirectory(resolve(root, dir))
  if (!path) return undefined
  const roots = [root, ...extraDirs].map(realDirectory)
  const isInside = roots.some(
    top => top !== undefined && (path === top || path.startsWith(top === '/' ? '/' : `${top}/`)),
  )
  return isInside ? path : undefined
}

function realDirectory(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}
