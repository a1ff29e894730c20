/** A message as the caller has it. */
export interface GivenMessage {
  readonly role: string
  readonly content: string
}

const MAX_PIECE_CHARS = 16_000

/** The messages as one text of at most `maxChars`. When not all fit, the first and the newest stay. */
export function recordOf(messages: readonly GivenMessage[], maxChars: number): string {
  const pieces = messages
    .filter(({ content }) => content.trim() !== '')
    .map(({ role, content }) => `[${role}]\n${cut(content, Math.min(MAX_PIECE_CHARS, Math.floor(maxChars / 2)))}`)
  const [first = '', ...rest] = pieces
  let left = maxChars - first.length
  let from = rest.length
  while (from > 0 && left >= (rest[from - 1]?.length ?? 0) + 2) left -= (rest[--from]?.length ?? 0) + 2
  const kept = from === 0 ? pieces : [first, `[${from} messages left out]`, ...rest.slice(from)]
  return kept.join('\n\n')
}

/** Both ends of a text that is too long. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const half = Math.floor(maxChars / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`
}
