import { Failure } from '#contracts/errors'
import type { ModelCandidate, ModelClient } from '#contracts/model/client'
import type { RunRequest } from '#contracts/run/request'
import { KNOWN_MODELS } from './price-table.js'

/** The name runs see, and may ask for with `provider_name`. */
export const PROVIDER = 'openai'

/** Said at start; whether it matters depends on what else answers. */
export const KEYLESS =
  'no OPENAI_API_KEY and no OPENAI_BASE_URL: a run that no other provider takes fails, and says what to set'

/**
 * The last resort of provider resolution: the bare client. No opinion about a run that names another provider, nor while
 * the client lacks the key it needs: whoever looks last says what to set.
 */
export function resolveCandidates(
  request: Pick<RunRequest, 'model' | 'provider_name'>,
  standard: { readonly model: string; readonly client: ModelClient; readonly lacksKey: boolean },
): readonly ModelCandidate[] | undefined {
  if (request.provider_name && request.provider_name !== PROVIDER && request.provider_name !== 'default')
    return undefined
  if (standard.lacksKey) return undefined
  const model = request.model || standard.model
  if (model === '') throw new Failure('not_configured', 'no model is configured: set SVC_MODEL or `model` on the run')
  return [{ provider: PROVIDER, model, client: standard.client, ...KNOWN_MODELS.get(model) }]
}
