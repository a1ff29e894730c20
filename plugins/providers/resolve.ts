import { Failure } from '#contracts/errors'
import type { ModelWish, Resolution } from '#contracts/model/providers'
import { DEFAULT } from './catalogs.js'
import type { ProvidersConfig } from './config.js'
import type { Provider } from './directory.js'
import { noModel, unaskedDefault, unaskedModel, unknownDefault, unknownModel } from './refusals.js'
import { type OwnServer, type Route, routeModel } from './route.js'
import type { Standing } from './standing.js'

/** Answers for everybody, whatever is asked. */
const FAKE = 'fake'

/** Who is to be asked for what, and the name that is shown for it. */
export interface Target {
  readonly as: string
  readonly provider: Provider
  readonly model: string
}

export interface Targets {
  readonly targets: readonly [Target, ...Target[]]
  readonly warning?: NonNullable<Resolution['warning']>
}

/** Why there is nobody to ask, and who it would have been. */
interface Refused {
  readonly kind: 'refused'
  readonly failure: Failure
  readonly from: string | undefined
}

type Aim = { readonly kind: 'target'; readonly target: Target } | Refused

/** Turns wishes into targets: routing, the deployment's default, and what takes over where the wish allows it. */
export class Resolver {
  constructor(
    private readonly standing: Standing,
    private readonly settings: Pick<ProvidersConfig, 'provider' | 'model'>,
  ) {}

  /** Throws the `Failure` that says why nobody can be asked. */
  resolve(wish: ModelWish): Targets {
    const pinned = this.#pinned(wish)
    if (pinned) return { targets: [pinned] }
    const asked = this.#asked(wish)
    if (!wish.allow_fallback) {
      if (asked.kind === 'refused') throw asked.failure
      return { targets: [asked.target] }
    }
    const first = asked.kind === 'target' ? asked.target : this.#instead(wish)
    if (first === undefined) throw (asked as Refused).failure
    const targets = distinct([first, ...this.#others(wish)])
    return asked.kind === 'target' ? { targets } : { targets, warning: warningOf(asked, wish, first) }
  }

  /** What answers a run that wishes nothing. */
  standard(): Aim {
    const { provider: name, model } = this.settings
    if (name !== '') return this.#chosen(name, model)
    if (model === '') return refuse(noModel(), DEFAULT)
    const { standing } = this
    const own = this.#ownServer(true)
    const route = routeModel(model, standing.routable(), own)
    if (route) {
      const provider = standing.directory.find(route.provider)
      const missing = provider && standing.missing(provider)
      if (missing === undefined) return this.#at(route.provider, route.model)
      return refuse(unaskedDefault(model, route.provider, missing, standing.scene), route.provider)
    }
    // The vendor's own server may have a model nobody here knows yet; what else could have been meant?
    const { bare } = standing
    if (bare && standing.isConfigured(bare)) return this.#at(bare.name, model)
    return refuse(unknownDefault(model, standing.scene), DEFAULT)
  }

  #pinned(wish: ModelWish): Target | undefined {
    const provider = this.settings.provider === FAKE ? this.standing.directory.find(FAKE) : undefined
    return provider && { as: FAKE, provider, model: wish.model || this.settings.model }
  }

  #asked({ provider_name: name, model }: ModelWish): Aim {
    if (name && name !== DEFAULT) return this.#named(name, model)
    if (name === DEFAULT && model) return this.#standardFor(model)
    return model && model !== this.settings.model ? this.#byModel(model) : this.standard()
  }

  #named(name: string, model: string | undefined): Aim {
    const provider = this.standing.directory.find(name)
    if (provider === undefined) return refuse(this.standing.unknownProvider('provider_name', name), name)
    if (model) return this.#at(name, this.standing.canonical(provider, model))
    return this.#chosen(name, this.settings.model)
  }

  /** A provider that was chosen without a model: the deployment's, if it takes that. */
  #chosen(name: string, model: string): Aim {
    const provider = this.standing.directory.find(name)
    if (provider === undefined) return refuse(this.standing.unknownProvider('SVC_PROVIDER', name), name)
    if (model === '') return refuse(noModel(), name)
    const id = this.standing.fit(provider, model)
    if (id !== undefined) return this.#at(name, id)
    const some = this.standing.models.ids(provider).slice(0, 5).join(', ')
    const failure = new Failure(
      'invalid_request',
      `model: provider ${name} is not known to have the default model ${model}; name one on the run or set SVC_MODEL (it has ${some}, …)`,
    )
    return refuse(this.standing.refusalOf(provider) ?? failure, name)
  }

  #byModel(model: string): Aim {
    const { standing, settings } = this
    const chosen = settings.provider === '' ? undefined : standing.directory.find(settings.provider)
    const id = chosen && standing.fit(chosen, model)
    if (chosen && id !== undefined) return this.#at(chosen.name, id)
    const route = routeModel(model, standing.routable(), this.#ownServer(false))
    if (route) return this.#routed(model, route)
    return chosen ? this.#at(chosen.name, model) : refuse(unknownModel(model, standing.scene), undefined)
  }

  #routed(model: string, route: Route): Aim {
    const { standing } = this
    const provider = standing.directory.find(route.provider)
    const missing = provider && standing.missing(provider)
    if (provider === undefined || missing === undefined) return this.#at(route.provider, route.model)
    const isBySlash = standing.models.idOf(provider, model) === undefined
    return refuse(unaskedModel(model, route.provider, missing, isBySlash), route.provider)
  }

  /** The server that answers by default, asked for this very model. */
  #standardFor(model: string): Aim {
    const standard = this.standard()
    if (standard.kind === 'refused') return standard
    const { provider } = standard.target
    return this.#at(provider.name, this.standing.canonical(provider, model))
  }

  /** What a wish that cannot be had gets where it allows that: by model, when only the provider was at fault; else the default. */
  #instead(wish: ModelWish): Target | undefined {
    if (wish.provider_name && wish.provider_name !== DEFAULT) {
      const detected = this.#asked({ ...(wish.model !== undefined && { model: wish.model }) })
      if (detected.kind === 'target') return detected.target
    }
    return this.#fallbackTo(DEFAULT, wish)
  }

  #others(wish: ModelWish): readonly Target[] {
    const named = new Set(wish.fallback_providers?.filter(name => name !== ''))
    const names = named.size === 0 ? [DEFAULT] : [...named]
    return names.map(name => this.#fallbackTo(name, wish)).filter(target => target !== undefined)
  }

  /** A stand-in is asked for the model of the wish, or if it does not take that, for the deployment's. */
  #fallbackTo(name: string, { model }: ModelWish): Target | undefined {
    const { standing, settings } = this
    const standard = name === DEFAULT ? this.standard() : undefined
    const provider = standard === undefined ? standing.directory.find(name) : targetOf(standard)?.provider
    if (provider === undefined || !standing.isConfigured(provider)) return undefined
    const wanted = model ? standing.fit(provider, model) : undefined
    const id = wanted ?? targetOf(standard)?.model ?? standing.fit(provider, settings.model)
    return id === undefined || id === '' ? undefined : { as: name, provider, model: id }
  }

  #at(name: string, model: string): Aim {
    const provider = this.standing.directory.find(name)
    if (provider === undefined) return refuse(this.standing.unknownProvider('provider_name', name), name)
    const refusal = this.standing.refusalOf(provider)
    return refusal ? refuse(refusal, name) : { kind: 'target', target: { as: name, provider, model } }
  }

  /** A server under the bare client's name that is not its vendor's. */
  #ownServer(takesSlashes: boolean): OwnServer | undefined {
    const { bare } = this.standing
    const isOwn = bare && this.standing.isConfigured(bare) && this.standing.takesAnything(bare)
    return isOwn ? { provider: bare.name, takesSlashes } : undefined
  }
}

const refuse = (failure: Failure, from: string | undefined): Aim => ({ kind: 'refused', failure, from })

function warningOf({ failure, from }: Refused, { model = '' }: ModelWish, first: Target): Targets['warning'] & object {
  const why = from === undefined ? `no provider is known to have "${model.slice(0, 100)}"` : `${from} cannot be asked`
  const message = `${why}; ${first.as} is asked for ${first.model} instead`
  const warning = { code: 'provider_fallback', message, reason: failure.message, to: first.as } as const
  return from === undefined ? warning : { ...warning, from }
}

const targetOf = (aim: Aim | undefined): Target | undefined => (aim?.kind === 'target' ? aim.target : undefined)

/** The first of those that would ask the same provider: another model of one that cannot answer is no help. */
function distinct(targets: readonly [Target, ...Target[]] | readonly Target[]): [Target, ...Target[]] {
  const kept: Target[] = []
  for (const target of targets)
    if (!kept.some(({ provider }) => provider.name === target.provider.name)) kept.push(target)
  return kept as [Target, ...Target[]]
}
