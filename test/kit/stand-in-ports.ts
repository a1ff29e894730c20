import { Failure } from '#contracts/errors'
import type { Events } from '#contracts/event/events'
import type { PluginManifest, Port } from '#contracts/plugin'
import {
  CONFIG_RELOAD,
  EVENTS,
  KEY_STORE,
  MESSAGE_STORE,
  PROVIDERS,
  RECORDS,
  RUN_STORE,
  RUNS,
  SANDBOX,
  SECRETS,
} from '#contracts/ports'
import type { Runs } from '#contracts/run/runs'
import type { Sandbox, SandboxRefusal } from '#contracts/sandbox'
import type { ConfigReload, Secrets } from '#contracts/settings'
import { createMemoryMessageStore } from '#kernel/storage/memory-message-store'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import { createMemoryRunStore } from '#kernel/storage/memory-run-store'
import { createMemoryKeyStore } from './memory-key-store.js'
import { createStandInProviders } from './stand-in-providers.js'

/**
 * Services to open a plugin with where no daemon is: real stores in memory, no runs, no sandbox, no secrets. Optional
 * ports get what every daemon has. A needed port of another plugin gets a stand-in that may be held but not used.
 */
export function standInPorts({ needs = [], optional = [] }: PluginManifest): ReadonlyMap<symbol, unknown> {
  const granted = new Map<symbol, unknown>()
  for (const { id } of optional) {
    const make = EVERYWHERE.get(id)
    if (make !== undefined) granted.set(id, make())
  }
  for (const port of needs)
    granted.set(port.id, (EVERYWHERE.get(port.id) ?? SOMEWHERE.get(port.id) ?? (() => unusable(port)))())
  return granted
}

const noRun = (id: string): Failure => new Failure('not_found', `no run ${id}`)

/** A run port without runs. */
const idleRuns = (): Runs => ({
  start: async () => {
    throw new Failure('unavailable', 'there is no daemon here, so nothing can be run')
  },
  read: async () => undefined,
  list: async () => [],
  cancel: async () => undefined,
  send: async () => ({ kind: 'unknown' }),
  settled: async () => undefined,
  active: () => undefined,
  isDurable: false,
  honoured: new Set(),
})

const noEvents = (): Events => ({
  read: async () => undefined,
  follow: async () => undefined,
  tell: async () => false,
  streamRun: async (_request, _reply, id) => {
    throw noRun(id)
  },
  streamConversation: async (_request, _reply, id) => {
    throw new Failure('not_found', `no conversation ${id}`)
  },
})

const NO_SANDBOX: SandboxRefusal = { kind: 'refused', reason: 'there is no sandbox here' }
const refusingSandbox = (): Sandbox => ({ name: 'none', check: async () => NO_SANDBOX, run: async () => NO_SANDBOX })

const EVERYWHERE: ReadonlyMap<symbol, () => unknown> = new Map<symbol, () => unknown>([
  [RUN_STORE.id, () => createMemoryRunStore()],
  [MESSAGE_STORE.id, () => createMemoryMessageStore()],
  [RECORDS.id, () => createMemoryRecords()],
  [RUNS.id, idleRuns],
  [EVENTS.id, noEvents],
  [SECRETS.id, (): Secrets => ({ get: () => undefined })],
  [CONFIG_RELOAD.id, (): ConfigReload => ({ reload: async () => ({ applied: [], restart_required: [] }) })],
])

/** Only a daemon with the right plugin has these. */
const SOMEWHERE: ReadonlyMap<symbol, () => unknown> = new Map<symbol, () => unknown>([
  [KEY_STORE.id, () => createMemoryKeyStore()],
  [SANDBOX.id, refusingSandbox],
  [PROVIDERS.id, () => createStandInProviders()],
])

/** Takes part in wiring; whoever asks it for a member learns why there is none. */
const unusable = ({ name }: Port<unknown>): object =>
  new Proxy(Object.freeze({}), {
    get(_, member) {
      if (typeof member === 'symbol' || member === 'then' || member === 'toJSON') return undefined
      throw new Error(
        `the port ${name} is only a stand-in here, without ${member}: ` +
          'use it later than in register, or check the plugin in a test of its own with describePlugin(plugin, { ports })',
      )
    },
  })
