import { isFailure } from '#contracts/errors'
import type { ModelCandidate } from '#contracts/model/client'
import type { Providers } from '#contracts/model/providers'
import type { ActiveRun } from '#contracts/run/active-run'
import type { RunRequest } from '#contracts/run/request'
import { DEFAULT } from './catalogs.js'
import type { Standing } from './standing.js'

interface AnswererParts {
  readonly providers: Pick<Providers, 'resolve'>
  readonly standing: Standing
  readonly isLast: boolean
}

/**
 * Who answers a run. No opinion where nothing at all is configured here: a wire's own client has settings of its own. With
 * `isLast` nobody else is left to ask, and what there is to do is said.
 */
export async function answerers(
  { providers, standing, isLast }: AnswererParts,
  request: RunRequest,
  run: ActiveRun,
): Promise<readonly ModelCandidate[] | undefined> {
  const resolution = (() => {
    try {
      return providers.resolve(request)
    } catch (error) {
      if (!isLast && isFailure(error) && mayLeave(standing, request, error.details.provider)) return undefined
      throw error
    }
  })()
  if (resolution === undefined) return undefined
  const { candidates, warning } = resolution
  const [first] = candidates
  if (warning && !run.isResumed)
    run.emit('prompt.warning', {
      code: warning.code,
      message: warning.message,
      ...(warning.from !== undefined && { from_provider: warning.from }),
      to_provider: warning.to,
      reason: warning.reason,
    })
  if (first?.callsTools === false && !run.isResumed)
    run.emit('prompt.warning', {
      code: 'model_without_tools',
      message: `${first.model} of ${first.provider} cannot call tools: this run is answered without any`,
    })
  return candidates
}

function mayLeave(standing: Standing, { provider_name: name }: RunRequest, about: unknown): boolean {
  const { bare, bareName } = standing
  if (name && name !== DEFAULT && name !== bareName) return false
  if (bare?.overlay !== undefined || standing.ready().length > 0) return false
  return about === undefined || about === bareName
}
