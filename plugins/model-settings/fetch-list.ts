import { Failure } from '#contracts/errors'
import type { ListedModels } from '#contracts/model/providers'
import { checkBaseUrl, isSamePlace } from './base-url.js'
import type { ModelSettings } from './model-settings.js'

export const FETCH_TIMEOUT_MS = 30_000
const MAX_MODELS = 1_000
const MAX_ID_CHARS = 256

/**
 * Asks a provider for its models, learns and keeps them, and returns how many there are. Fails with `fetch_failed` and the
 * reason; what was known before stays.
 */
export async function fetchList(desk: ModelSettings, name: string, gone: AbortSignal): Promise<number> {
  const { providers, store, resolve } = desk.parts
  const { baseUrl } = desk.provider(name)
  // A name may stand for another address than when it was set.
  if (desk.settings.get(name)?.reach?.baseUrl !== undefined) await checkBaseUrl(baseUrl, resolve)
  const listed = await ask(desk, name, gone)
  if (gone.aborted) throw new Failure('unavailable', 'the client went away')
  if (!isSamePlace(providers.find(name)?.baseUrl, baseUrl))
    throw new Failure('conflict', `the address of ${name} was changed meanwhile; fetch again`)
  const before = await store.listOf(name)
  if (listed.kind === 'failed') {
    const error = listed.failure.message
    await store.keepList(name, {
      ...(before !== undefined && isSamePlace(before.baseUrl, baseUrl) ? before : { baseUrl, models: [] }),
      error,
    })
    await desk.spread()
    throw new Failure('fetch_failed', `the models of ${name} could not be fetched: ${error}`)
  }
  const models = listed.models.filter(({ id }) => id.length <= MAX_ID_CHARS).slice(0, MAX_MODELS)
  await store.keepList(name, { baseUrl, at: new Date().toISOString(), models })
  providers.learn(name, models)
  await desk.spread()
  return models.length
}

async function ask({ parts }: ModelSettings, name: string, gone: AbortSignal): Promise<ListedModels> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), FETCH_TIMEOUT_MS)
  try {
    const listed = await parts.providers.fetchModels(name, AbortSignal.any([gone, deadline.signal]))
    if (listed.kind === 'listed' || !deadline.signal.aborted) return listed
    const message = `no answer within ${FETCH_TIMEOUT_MS / 1000} seconds`
    return { kind: 'failed', failure: { category: 'retryable', message } }
  } finally {
    clearTimeout(timer)
  }
}
