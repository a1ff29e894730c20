import { Failure } from '#contracts/errors'
import { BUILT_IN_PROFILES } from '#contracts/profiles'
import type { RunRequest } from '#contracts/run/request'
import type { PromptLibrary } from './library.js'
import type { ExtensionKind } from './own-extensions.js'

/** What a request may name. */
export interface KnownNames {
  readonly library: PromptLibrary
  /** Of a tenant's own extensions, for the list in a refusal. */
  readonly ownNames: (kind: ExtensionKind) => Promise<readonly string[]>
  readonly isCapabilityProfile: (name: string) => Promise<boolean>
}

const BUILT_IN: ReadonlySet<string> = new Set(BUILT_IN_PROFILES)

/** Refuses a request that asks for a piece of prompt that is not there; the message names the field. */
export async function checkRequest(request: RunRequest, known: KnownNames): Promise<void> {
  const { library } = known
  const { agent_intent: intent, prompt_profile: profile, prompt_extensions: extensions } = request
  if (intent && !library.intents.has(intent)) throw unknown('agent_intent', intent, library.intents.keys())
  if (profile) await checkProfile(profile, known)
  await checkIds('behavior', extensions?.behaviors, library.behaviors, known)
  await checkIds('talent', extensions?.talents, library.talents, known)
}

/** A client that names a capability profile here means its limits, so it is refused whatever else has that name. */
async function checkProfile(profile: string, { library, isCapabilityProfile }: KnownNames): Promise<void> {
  const names = library.modelProfiles.map(({ name }) => name)
  if (BUILT_IN.has(profile) || (await isCapabilityProfile(profile)))
    throw new Failure(
      'invalid_request',
      `prompt_profile: ${profile} is a capability profile; put it into "profile", and one of ${names.join(', ')} here`,
    )
  if (!names.includes(profile)) throw unknown('prompt_profile', profile, names)
}

async function checkIds(
  kind: ExtensionKind,
  ids: readonly string[] | undefined,
  texts: ReadonlyMap<string, string>,
  { ownNames }: KnownNames,
): Promise<void> {
  for (const [index, id] of (ids ?? []).entries())
    if (!texts.has(id))
      throw unknown(
        `prompt_extensions.${kind}s[${index}]`,
        id,
        new Set([...(await ownNames(kind)), ...texts.keys()].toSorted()),
      )
}

const SHOWN_CHARS = 64

function unknown(field: string, value: string, known: Iterable<string>): Failure {
  const shown = JSON.stringify(value.slice(0, SHOWN_CHARS))
  const names = [...known].join(', ')
  return new Failure(
    'invalid_request',
    `${field}: there is no ${shown}; ${names ? `there is ${names}` : 'there is none'}`,
  )
}
