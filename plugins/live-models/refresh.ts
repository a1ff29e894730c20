import type { ListedModel, ListedModels, Providers, ProviderView } from '#contracts/model/providers'
import type { PluginLog } from '#contracts/plugin'
import type { Clock } from './clock.js'
import type { LiveModelsConfig } from './config.js'

/** What is known of one provider's list; outlives reloads. */
export interface KnownList {
  /** Where it came from: a list of another address says nothing. */
  readonly baseUrl: string
  /** The last good one. */
  readonly models: readonly ListedModel[]
  /** Monotonic; not asked again before. */
  readonly dueMs: number
  /** How the last attempt went: `ok`, or the category of its failure. */
  readonly state: string
}

export type KnownLists = Map<string, KnownList>

export interface Refreshing {
  readonly providers: Providers
  readonly lists: KnownLists
  readonly config: Pick<LiveModelsConfig, 'refresh_seconds' | 'timeout_seconds'>
  readonly clock: Clock
  readonly log: PluginLog
}

/** How often it is looked whether something is due: a key may be set, or an address changed, at any time. */
const LOOK_MS = 15_000
/** Daemons that start together do not ask together. */
const FIRST_SPREAD_MS = 1_000
const SPREAD = 0.1
const MAX_AT_ONCE = 4
const MAX_MODELS = 2_000
const MAX_ID_CHARS = 256

/** Keeps the lists of all providers that have one fresh until `superseded` fires. Asks nobody who is not configured. */
export async function keepFresh(refreshing: Refreshing, superseded: AbortSignal): Promise<void> {
  const { clock } = refreshing
  await clock.sleep(clock.random() * FIRST_SPREAD_MS, superseded)
  while (!superseded.aborted) {
    await refreshDue(refreshing, superseded)
    await clock.sleep(LOOK_MS, superseded)
  }
}

/** Tells the providers what was known before a reload. */
export function remember({ providers, lists }: Pick<Refreshing, 'providers' | 'lists'>): void {
  for (const [name, { baseUrl, models }] of lists)
    if (models.length > 0 && providers.find(name)?.baseUrl === baseUrl) providers.learn(name, models)
}

async function refreshDue(refreshing: Refreshing, superseded: AbortSignal): Promise<void> {
  const { providers, lists, clock } = refreshing
  const listing = providers.list().filter(({ entry }) => entry.lists_models === true)
  const now = clock.now()
  forgetGone(refreshing, listing)
  const due = listing.filter(({ name, isConfigured }) => isConfigured && (lists.get(name)?.dueMs ?? now) <= now)
  const work = async (): Promise<void> => {
    for (let view = due.shift(); view !== undefined && !superseded.aborted; view = due.shift())
      await refreshOne(refreshing, view, superseded)
  }
  await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, due.length) }, work))
}

/** A list of another address is dropped. Who lost the key is asked as soon as there is one again, and keeps the list. */
function forgetGone({ providers, lists }: Refreshing, listing: readonly ProviderView[]): void {
  for (const [name, known] of lists) {
    const view = listing.find(each => each.name === name)
    if (view?.baseUrl !== known.baseUrl) {
      lists.delete(name)
      if (known.models.length > 0) providers.learn(name, [])
    } else if (!view.isConfigured) lists.set(name, { ...known, dueMs: 0 })
  }
}

async function refreshOne(
  { providers, lists, config, clock, log }: Refreshing,
  { name, baseUrl }: ProviderView,
  superseded: AbortSignal,
): Promise<void> {
  const deadline = new AbortController()
  const done = new AbortController()
  void clock.sleep(config.timeout_seconds * 1000, done.signal).then(() => deadline.abort())
  let listed: ListedModels
  try {
    listed = await providers.fetchModels(name, AbortSignal.any([superseded, deadline.signal]))
  } finally {
    done.abort()
  }
  // What an address said that is no longer the provider's is not its list.
  if (superseded.aborted || providers.find(name)?.baseUrl !== baseUrl) return
  const before = lists.get(name)
  const dueMs = clock.now() + config.refresh_seconds * 1000 * (1 + SPREAD * clock.random())
  const known = { baseUrl, models: before?.models ?? [], dueMs }
  if (listed.kind === 'listed') {
    const models = bounded(listed.models)
    lists.set(name, { ...known, models, state: 'ok' })
    providers.learn(name, models)
    const facts = { provider: name, models: models.length, dropped: listed.models.length - models.length }
    if (before?.state !== 'ok') log.info(facts, 'the model list of a provider is kept fresh')
    return
  }
  const { category, message } = listed.failure
  lists.set(name, { ...known, state: category })
  const reason = category === 'cancelled' ? `no answer within ${config.timeout_seconds} seconds` : message
  if (before?.state !== category)
    log.warn({ provider: name, category, reason, kept: known.models.length }, 'the model list of a provider failed')
}

const bounded = (models: readonly ListedModel[]): readonly ListedModel[] =>
  models.filter(({ id }) => id.length <= MAX_ID_CHARS).slice(0, MAX_MODELS)
