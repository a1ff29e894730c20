import type { HookName } from '#contracts/hooks'
import type { RoutePlugin } from '#contracts/http'
import type { ToolDefinition } from '#contracts/tool/tool'

export interface TapRecord {
  readonly hook: HookName
  readonly plugin: string
  readonly stage: number
  readonly fn: (...args: unknown[]) => unknown
}

interface BackgroundRecord {
  readonly name: string
  readonly work: (superseded: AbortSignal) => Promise<void>
}

/** Everything a generation has declared, as data: each epoch replays it into tables of its own. */
export class Contributions {
  readonly taps: TapRecord[] = []
  readonly tools: ToolDefinition[] = []
  readonly routes: RoutePlugin[] = []
  readonly services = new Map<symbol, unknown>()
  readonly items: { readonly to: symbol; readonly item: unknown }[] = []
  readonly background: BackgroundRecord[] = []
}
