import type { ApprovalOption, ApprovalOutcome } from '#contracts/approval'
import type { Letter } from '#contracts/store/run-store'

/** What somebody decided. */
export type Decision =
  | { readonly decision: 'approved'; readonly option?: string }
  | { readonly decision: 'denied'; readonly message?: string }

/** Body of the letter of a route (`by`: the public prefix of the key that was used), or of a run that ends while it waits. */
export type Answer = (Decision & { readonly by?: string }) | { readonly decision: 'ended' }

/** What a letter answers; the kernel's own says that the time is up. Whatever does not say `approved` is no approval; an option that was not offered picks none. */
export function outcomeOf({ body }: Letter, options: readonly ApprovalOption[] = []): ApprovalOutcome {
  const answer = (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>
  if (answer.decision === 'approved') {
    const option = options.find(({ id }) => id === answer.option)
    return { kind: 'approved', ...(option && { option }) }
  }
  if ('timed_out' in answer) return { kind: 'timed_out' }
  if (answer.decision === 'denied')
    return { kind: 'denied', ...(typeof answer.message === 'string' && { message: answer.message }) }
  return { kind: 'resumed' }
}

/** Who wrote the letter, as far as it says. */
export function authorOf({ body }: Letter): string | undefined {
  const by = typeof body === 'object' && body !== null && 'by' in body ? body.by : undefined
  return typeof by === 'string' ? by : undefined
}

/** What a resumed checkpoint was given, as JSON text. */
export function payloadOf({ body }: Letter): string | undefined {
  const payload = typeof body === 'object' && body !== null && 'payload' in body ? body.payload : undefined
  return payload === undefined ? undefined : JSON.stringify(payload)
}
