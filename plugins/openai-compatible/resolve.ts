import { Failure } from '#contracts/errors'
import type { ModelCandidate, ModelClient } from '#contracts/model/client'
import type { RunRequest } from '#contracts/run/request'
import { KNOWN_MODELS } from './price-table.js'

/** The name runs see, and may ask for with `provider_name`. */
export const PROVIDER = 'openai'

/** What a person has to do when there is nothing to talk to. */
export const NOTHING_SET =
  'no model provider is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL to an OpenAI-compatible server ' +
  '(a local one needs no key), or SVC_PROVIDER=fake with SVC_FAKE_TURNS=<turns file>'

/** Said at start; whether it matters depends on what else answers. */
export const KEYLESS =
  'no OPENAI_API_KEY and no OPENAI_BASE_URL: a run that no other provider takes fails, and says what to set'

/**
 * The last resort of provider resolution: the bare client. No opinion about a run that names another provider;
 * a `Failure` that says what to set when the client has no key and needs one.
 */
export function resolveCandidates(
  request: Pick<RunRequest, 'model' | 'provider_name'>,
  standard: { readonly model: string; readonly client: ModelClient; readonly lacksKey: boolean },
): readonly ModelCandidate[] | undefined {
  if (request.provider_name && request.provider_name !== PROVIDER && request.provider_name !== 'default')
    return undefined
  if (standard.lacksKey) throw new Failure('not_configured', NOTHING_SET)
  const model = request.model || standard.model
  if (model === '') throw new Failure('not_configured', 'no model is configured: set SVC_MODEL or `model` on the run')
  return [{ provider: PROVIDER, model, client: standard.client, ...KNOWN_MODELS.get(model) }]
}
