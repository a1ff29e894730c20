import type { Static } from '@sinclair/typebox'
import type { ParentContextHandoff } from '#contracts/run/request'

type Handoff = Readonly<Static<typeof ParentContextHandoff>>

const MAX_MESSAGES = 16
const MAX_RUNES = 400
const MAX_JSON_BYTES = 8192
const MAX_ID_CHARS = 256
const FURTHER_IDS = ['parent_tenant_id', 'parent_conversation_id', 'parent_agent_id'] as const

/** The hand-off within its bounds: the newest messages, each cut, the oldest dropped until all of it fits. */
export function boundHandoff({ messages = [], ...ids }: Handoff): Handoff {
  const bounded = { parent_run_id: cut(ids.parent_run_id, MAX_ID_CHARS), ...cutOf(ids, FURTHER_IDS) }
  const kept = messages.slice(-MAX_MESSAGES).map(message => ({
    index: message.index,
    role: cut(message.role, MAX_ID_CHARS),
    ...cutOf(message, ['name', 'tool_call_id']),
    content: cut(message.content, MAX_RUNES),
  }))
  while (kept.length > 0 && Buffer.byteLength(jsonOf({ ...bounded, messages: kept })) > MAX_JSON_BYTES) kept.shift()
  return { ...bounded, messages: kept }
}

/** Of these fields the ones that are there, and nothing else of what came along. */
const cutOf = <K extends string>(from: { readonly [Field in K]?: string }, fields: readonly K[]) =>
  Object.fromEntries(
    fields.flatMap(field => (from[field] === undefined ? [] : [[field, cut(from[field], MAX_ID_CHARS)]])),
  ) as { [Field in K]?: string }

/** What a child reads first: what its parent hands down, then its task. */
export const openingOf = (prompt: string, handoff: Handoff): string =>
  `# Context handed down by the parent run\n\n${jsonOf(handoff)}\n\n# Task\n\n${prompt}`

const jsonOf = (handoff: Handoff): string => JSON.stringify(handoff, undefined, 1)

/** At most so many characters, the last one an ellipsis when some are missing. */
function cut(text: string, runes: number): string {
  if (text.length <= runes) return text
  const characters = Array.from(text.slice(0, runes * 2 + 2))
  return characters.length <= runes ? text : `${characters.slice(0, runes - 1).join('')}…`
}
