import {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncHook,
  SyncWaterfallHook,
} from 'tapable'
import type { StoredEvent } from './event/envelope.js'
import type { ToldEvent } from './event/events.js'
import type { EventType } from './event/payloads.js'
import type { Identity } from './identity.js'
import type { ModelAnswer, ModelCandidate, ModelRequest } from './model/client.js'
import type { ActiveRun } from './run/active-run.js'
import type { CostStatus } from './run/cost.js'
import type { Message, ToolCall } from './run/message.js'
import type { RunPolicy } from './run/policy.js'
import type { RunRequest } from './run/request.js'
import type { RunRecord } from './run/run.js'
import type { Usage } from './run/usage.js'
import type { SandboxPolicy } from './sandbox.js'
import type { ToolDefinition, ToolResult, WorkspaceRoots } from './tool/tool.js'

/** A run about to be accepted. A tap returns it changed, or throws a `Failure` that refuses the request. */
export interface Admission {
  readonly request: RunRequest
  readonly policy: RunPolicy
  readonly identity: Identity
  readonly previousRunId?: string
  /** What the model reads as the user's first message, in place of the prompt that the run shows. */
  readonly opening?: string
}

/** A place to work in. `undo` runs when the run settles; `type` undefined emits no workspace events. */
export interface ProvisionedWorkspace extends WorkspaceRoots {
  readonly type?: string
  destroy?(): Promise<void>
}

export interface PromptSection {
  readonly name: string
  readonly meta?: string
  readonly text: string
}

/** The system prompt in the making. `verbatim` wins over sections. Facts of `resolved` go to `prompt.resolved`. */
export interface ComposedPrompt {
  readonly verbatim?: string
  readonly sections: readonly PromptSection[]
  readonly warnings: readonly { readonly code: string; readonly message: string }[]
  readonly resolved: {
    readonly intent: string
    readonly model_profile: string
    readonly model_fallback: boolean
    readonly applied_behaviors: readonly string[]
    readonly applied_talents: readonly string[]
    readonly applied_skills: readonly string[]
  }
}

/** How a plugin ends a run from inside. */
export type Ending =
  | { readonly kind: 'completed'; readonly output: string }
  | {
      readonly kind: 'failed'
      readonly error: string
      readonly reason?: string
      readonly facts?: Readonly<Record<string, unknown>>
    }

/**
 * What to do with a turn that calls no tools: accept it (maybe reworded), or go on with more messages. `output` is what a
 * run completes with that may take no further step; without it, it fails with what it may not.
 */
export type AnswerVerdict =
  | { readonly kind: 'accept'; readonly output: string }
  | { readonly kind: 'continue'; readonly messages: readonly Message[]; readonly output?: string }
  | Extract<Ending, { kind: 'failed' }>

/** A tool call on its way: `args` are parsed, aliases mapped, checked against the tool's parameters. */
export interface PendingCall {
  readonly call: ToolCall
  readonly tool: ToolDefinition
  readonly args: Readonly<Record<string, unknown>>
  readonly step: number
}

/**
 * `deny` shows `reason` in `tool.call.blocked` and gives the model `output` (default: the reason); `isQuiet` leaves the
 * blocked event out, for denials that have events of their own. `ask` goes on to `toolAsking`.
 */
export type Verdict =
  | { readonly kind: 'allow' }
  | {
      readonly kind: 'deny'
      readonly reason: string
      readonly output?: string | Readonly<Record<string, unknown>>
      readonly skill?: string
      readonly isQuiet?: boolean
    }
  | { readonly kind: 'ask'; readonly why: string }

/** Arguments after a pre-tool hook; `deny` stops the call. */
export interface AmendedCall extends PendingCall {
  readonly deny?: Extract<Verdict, { kind: 'deny' }>
}

/** A tool's result on its way to the model. */
export interface ToolAnswer {
  readonly result: ToolResult
  readonly durationMs: number
}

/** An answered turn with its price, after accounting. */
export interface PricedTurn {
  readonly answer: ModelAnswer
  readonly provider: string
  readonly usage: Usage
  readonly costUsd: number
  readonly costStatus: CostStatus
  readonly totalMs: number
  readonly firstTokenMs: number
}

/** An event before it is numbered and serialised. */
export interface EventDraft {
  readonly type: EventType
  readonly payload: Readonly<Record<string, unknown>>
}

/**
 * Every place where a plugin may step into a run. What a tap answers depends on the kind of hook:
 *
 * - Waterfall: it gets what the tap before it made of the first argument, and returns that, changed or as it is.
 * - Bail: the first answer that is not undefined decides, and no further tap is asked.
 * - All others only watch: answers are dropped, and what is thrown is logged with the plugin and forgotten.
 *
 * What a tap of the first two throws fails the run, or refuses the request (`runAdmitting`). The run waits for every tap
 * but those of `runSettled`. Order among taps: `STAGE`. Adding a hook is a contract change with its own test.
 */
export function createHookTable() {
  return Object.freeze({
    /** Fill in or refuse a request, before anything is stored. */
    runAdmitting: new AsyncSeriesWaterfallHook<[Admission]>(['admission'], 'runAdmitting'),
    /** Who answers this run's turns, best first. The first tap with an opinion wins; nobody: the run fails. */
    providerResolving: new AsyncSeriesBailHook<[RunRequest, ActiveRun], readonly ModelCandidate[] | undefined>(
      ['request', 'run'],
      'providerResolving',
    ),
    /** Where the run works. Nobody: the daemon's workspace. */
    workspaceProvisioning: new AsyncSeriesBailHook<[ActiveRun], ProvisionedWorkspace | undefined>(
      ['run'],
      'workspaceProvisioning',
    ),
    /** Build the system prompt, once per run. */
    promptComposing: new AsyncSeriesWaterfallHook<[ComposedPrompt, ActiveRun]>(['prompt', 'run'], 'promptComposing'),
    /** Add, hide or reorder tools, each step. Return the same array when nothing changes: wires cache by identity. */
    toolsOffering: new AsyncSeriesWaterfallHook<[readonly ToolDefinition[], ActiveRun]>(
      ['tools', 'run'],
      'toolsOffering',
    ),
    /** May another step begin? An ending ends the run here (budgets). */
    stepPermitting: new AsyncSeriesBailHook<[ActiveRun], Ending | undefined>(['run'], 'stepPermitting'),
    /** A step began and nothing was asked yet: steer, compact, warn. */
    stepStarting: new AsyncSeriesHook<[ActiveRun]>(['run'], 'stepStarting'),
    /** Change one turn's request. */
    turnRequesting: new AsyncSeriesWaterfallHook<[ModelRequest, ActiveRun]>(['request', 'run'], 'turnRequesting'),
    /** A turn was answered and priced, and its message stands in the transcript. */
    turnAnswered: new AsyncSeriesHook<[PricedTurn, ActiveRun]>(['turn', 'run'], 'turnAnswered'),
    /** Right after: what the turn cost is counted. */
    spendAccrued: new AsyncSeriesHook<[PricedTurn, ActiveRun]>(['turn', 'run'], 'spendAccrued'),
    /** What becomes of it: end the run here (its tool calls are then not executed), or let it go on. */
    turnJudging: new AsyncSeriesBailHook<[PricedTurn, ActiveRun], Ending | undefined>(['turn', 'run'], 'turnJudging'),
    /** A turn without tool calls stands to become the run's output. */
    answerJudging: new AsyncSeriesBailHook<[string, ActiveRun], AnswerVerdict | undefined>(
      ['answer', 'run'],
      'answerJudging',
    ),
    /** May this tool be called in this run at all (lists, skills, profiles)? Before anybody looks at arguments. */
    toolGating: new AsyncSeriesBailHook<[PendingCall, ActiveRun], Verdict | undefined>(['call', 'run'], 'toolGating'),
    /** Rewrite arguments, or deny (pre-tool hooks). */
    toolAmending: new AsyncSeriesWaterfallHook<[AmendedCall, ActiveRun]>(['call', 'run'], 'toolAmending'),
    /** May this very call run (rules, approval policy, plan mode)? Nobody: it may. */
    toolJudging: new AsyncSeriesBailHook<[PendingCall, ActiveRun], Verdict | undefined>(['call', 'run'], 'toolJudging'),
    /** Somebody said `ask`: settle it. Nobody: the call is denied. */
    toolAsking: new AsyncSeriesBailHook<
      [PendingCall, Extract<Verdict, { kind: 'ask' }>, ActiveRun],
      Exclude<Verdict, { kind: 'ask' }> | undefined
    >(['call', 'question', 'run'], 'toolAsking'),
    /** Narrow what a command of this call may reach. A tap must not widen it. */
    sandboxShaping: new AsyncSeriesWaterfallHook<[SandboxPolicy, ActiveRun]>(['policy', 'run'], 'sandboxShaping'),
    /** A call passed every check and is about to run (pre-images, audits). */
    toolStarting: new AsyncSeriesHook<[PendingCall, ActiveRun]>(['call', 'run'], 'toolStarting'),
    /** Change a result before the model reads it. */
    toolAnswered: new AsyncSeriesWaterfallHook<[ToolAnswer, PendingCall, ActiveRun]>(
      ['answer', 'call', 'run'],
      'toolAnswered',
    ),
    /** The step is over, its tools with it; `run.step.completed` follows. */
    stepEnded: new AsyncSeriesHook<[ActiveRun]>(['run'], 'stepEnded'),
    /** Redact or drop an event before it gets a number. Must be quick and must not throw. */
    eventEmitting: new SyncWaterfallHook<[EventDraft | 'dropped', ActiveRun]>(['event', 'run'], 'eventEmitting'),
    /** The same for an event that is told beside the runs of a conversation. */
    conversationEmitting: new SyncWaterfallHook<[ToldEvent | 'dropped', RunRecord]>(
      ['event', 'run'],
      'conversationEmitting',
    ),
    /** An event is committed and about to be shown. */
    eventAppended: new SyncHook<[StoredEvent, RunRecord]>(['event', 'run'], 'eventAppended'),
    /** The run's outcome is known, its terminal event not yet written: the last chance to emit. */
    runSettling: new AsyncSeriesHook<[Ending | { readonly kind: 'cancelled' }, ActiveRun]>(
      ['ending', 'run'],
      'runSettling',
    ),
    /** The run is over and its terminal event stored. Taps run beside each other. */
    runSettled: new AsyncParallelHook<[RunRecord]>(['run'], 'runSettled'),
  })
}

export type HookTable = ReturnType<typeof createHookTable>
export type HookName = keyof HookTable

type Tap<H> = H extends { tapPromise(options: string, fn: infer F): unknown; intercept: unknown } ? F : never
type SyncTap<H> = H extends { tap(options: string, fn: infer F): unknown } ? F : never
type SyncHookName = 'eventEmitting' | 'conversationEmitting' | 'eventAppended'

/** The callback a plugin hands in for hook `N`: sync for the event hooks, else returning a promise. */
export type TapFn<N extends HookName> = N extends SyncHookName ? SyncTap<HookTable[N]> : Tap<HookTable[N]>
