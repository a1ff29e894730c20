import { Failure } from '#contracts/errors'
import { nearNames } from './near.js'

/** What the refusals below tell of a deployment. */
export interface Scene {
  /** Names of providers that somebody set up. */
  readonly ready: readonly string[]
  /** Model ids and aliases of all providers that lists show, each with its provider. */
  known(): Iterable<readonly [name: string, provider: string]>
}

const LONGEST_SHOWN = 100
const NO_MODEL = 'SVC_PROVIDER=fake with SVC_FAKE_TURNS=<turns file>'
const LIST = '"runwright providers" (GET /v1/providers) lists them all with their variables'

const shown = (name: string): string => `"${name.slice(0, LONGEST_SHOWN)}"`

export const noModel = (): Failure =>
  new Failure('not_configured', 'no model is configured: set SVC_MODEL or `model` on the run')

/** A model of a run that nobody has. */
export function unknownModel(model: string, { ready, known }: Scene): Failure {
  const first = ready.length === 0 ? ` No provider is configured yet: ${LIST}.` : ''
  return new Failure(
    'invalid_request',
    `model: no provider here is known to have ${shown(model)}.${guess(model, known)} "runwright models" (GET /v1/models) ` +
      `lists what is known; to send it all the same, name its provider in provider_name.${first}`,
  )
}

/** A model of a run whose provider cannot be asked. `isBySlash`: it is the provider's only for the `/` in its id. */
export function unaskedModel(model: string, provider: string, missing: string, isBySlash: boolean): Failure {
  const why = isBySlash ? ` (ids with a / are ${provider}'s, unless provider_name says whose)` : ''
  const message = `model ${shown(model)}${why}: provider ${provider} cannot be asked: ${missing}`
  return new Failure('not_configured', message, { details: { provider } })
}

/** The default model, which nobody is known to have. */
export function unknownDefault(model: string, scene: Scene): Failure {
  const { ready, known } = scene
  const what = `no provider here is known to have the default model ${shown(model)}.${guess(model, known)}`
  const todo =
    ready.length > 0
      ? `Set SVC_MODEL to a model of ${ready.join(' or ')}, which can be asked, or OPENAI_API_KEY to ask OpenAI for it`
      : ways('Set SVC_MODEL to a model of "runwright models", and the key of its provider')
  return new Failure('not_configured', `${what} ${todo}`)
}

/** `missing`: what to do so that the provider of the default model can be asked. */
export function unaskedDefault(model: string, provider: string, missing: string, { ready }: Scene): Failure {
  const what = `the default model ${shown(model)} is one of ${provider}, and ${provider} cannot be asked: ${missing}`
  const message =
    ready.length > 0
      ? `${what}; or set SVC_MODEL to a model of ${ready.join(' or ')}, which can be asked`
      : `no model provider is configured: ${what}. ${ways('For another model: set SVC_MODEL, and the key of its provider')}`
  return new Failure('not_configured', message, { details: { provider } })
}

const ways = (another: string): string =>
  `${another}; ${LIST}. For a server of your own: OPENAI_BASE_URL (a local one needs no key). Without a model: ${NO_MODEL}`

function guess(model: string, known: Scene['known']): string {
  const owners = new Map<string, string>()
  for (const [name, provider] of known()) if (!owners.has(name)) owners.set(name, provider)
  const near = nearNames(model, [...owners.keys()]).map(name => `${name} (${owners.get(name)})`)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}
