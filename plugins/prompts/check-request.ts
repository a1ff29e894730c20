import { Failure } from '#contracts/errors'
import type { RunRequest } from '#contracts/run/request'
import type { PromptLibrary } from './library.js'

/** Profiles of `profile`; a client that puts one of them into `prompt_profile` has mistaken the field. */
const CAPABILITY_PROFILES: ReadonlySet<string> = new Set([
  'full',
  'researcher',
  'reviewer',
  'file-writer',
  'bash-runner',
  'github',
])

/** Refuses a request that asks for a piece of prompt the library does not have; the message names the field. */
export function checkRequest(request: RunRequest, library: PromptLibrary): void {
  const { agent_intent: intent, prompt_profile: profile, prompt_extensions: extensions } = request
  if (intent && !library.intents.has(intent)) throw unknown('agent_intent', intent, library.intents.keys())
  if (profile) checkProfile(profile, library)
  checkIds('behaviors', extensions?.behaviors, library.behaviors)
  checkIds('talents', extensions?.talents, library.talents)
}

function checkProfile(profile: string, { modelProfiles }: PromptLibrary): void {
  const names = modelProfiles.map(({ name }) => name)
  if (names.includes(profile)) return
  if (CAPABILITY_PROFILES.has(profile))
    throw new Failure(
      'invalid_request',
      `prompt_profile: ${profile} is a capability profile; put it into "profile", and one of ${names.join(', ')} here`,
    )
  throw unknown('prompt_profile', profile, names)
}

function checkIds(kind: string, ids: readonly string[] | undefined, known: ReadonlyMap<string, string>): void {
  for (const [index, id] of (ids ?? []).entries())
    if (!known.has(id)) throw unknown(`prompt_extensions.${kind}[${index}]`, id, known.keys())
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
