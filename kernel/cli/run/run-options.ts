import { resolve } from 'node:path'
import type { RunRequest } from '#contracts/run/request'
import type { ConnectionOptions } from '../options.js'

/** What a watched run looks like. */
export interface ViewOptions {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly toolOutput?: number
  /** Approve every call that waits for approval, without asking. */
  readonly approveAll?: boolean
}

/** The options of `run`, as commander hands them over. */
export interface RunOptions extends ConnectionOptions, ViewOptions {
  readonly model?: string
  readonly provider?: string
  readonly systemPrompt?: string
  readonly conversation?: string
  readonly maxSteps?: number
  readonly maxTurns?: number
  readonly maxCost?: number
  readonly workspace?: string
  readonly allowTool?: readonly string[]
  readonly denyTool?: readonly string[]
  readonly sandbox?: 'workspace' | 'local' | 'unrestricted'
  readonly network?: 'allow' | 'deny'
  readonly allowFallback?: boolean
  readonly idempotencyKey?: string
  readonly plan?: boolean
  readonly approval?: 'none' | 'destructive' | 'all'
  readonly unattended?: 'wait' | 'deny' | 'fail'
  /** False: print the id of the run and leave. */
  readonly stream?: boolean
}

/** The body of `POST /v1/runs`: what was not asked for is left to the daemon. */
export function requestOf(prompt: string, options: RunOptions, cwd: string): RunRequest {
  const permissions = given({
    sandbox: options.sandbox,
    network: options.network,
    approval: options.approval,
    unattended: options.unattended,
  })
  return given({
    prompt,
    plan_mode: options.plan,
    model: options.model,
    provider_name: options.provider,
    system_prompt: options.systemPrompt,
    conversation_id: options.conversation,
    max_steps: options.maxSteps,
    max_turns: options.maxTurns,
    max_cost_usd: options.maxCost,
    workspace_path: options.workspace === undefined ? undefined : resolve(cwd, options.workspace),
    allowed_tools: options.allowTool?.slice(),
    denied_tools: options.denyTool?.slice(),
    allow_fallback: options.allowFallback,
    permissions: Object.keys(permissions).length === 0 ? undefined : permissions,
  })
}

/** Without the fields that are undefined. */
const given = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
