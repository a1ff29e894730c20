/** A content block of the messages API, as far as rules and cache look into it. */
export interface MessagesBlock {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly input?: unknown
  readonly tool_use_id?: string
  readonly cache_control?: unknown
}

/** Body of a request to the messages API with content in blocks. */
export interface MessagesBody {
  readonly model: string
  readonly max_tokens: number
  readonly system?: readonly MessagesBlock[]
  readonly tools?: readonly (MessagesBlock & { readonly input_schema?: { readonly type?: string } })[]
  readonly messages: readonly { readonly role: string; readonly content: readonly MessagesBlock[] }[]
}

const MAX_MARKS = 4
const NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** What the vendor's documentation forbids in a request; empty for one that its server would take. */
export function objections(body: MessagesBody): readonly string[] {
  const { messages, tools = [], system = [] } = body
  const found: string[] = []
  const object = (isWrong: boolean, what: string) => void (isWrong && found.push(what))
  const blocks = messages.flatMap(({ content }) => content)
  object(typeof body.model !== 'string' || body.model === '', 'model')
  object(!Number.isInteger(body.max_tokens) || body.max_tokens < 1, 'max_tokens')
  object(messages.length === 0, 'messages: at least one')
  object(messages[0]?.role !== 'user', 'first message must be of the user')
  object(messages.at(-1)?.role !== 'user', 'last message: prefill is not supported')
  object(
    messages.some(({ role }, index) => role !== (index % 2 === 0 ? 'user' : 'assistant')),
    'roles must alternate',
  )
  object(
    messages.some(({ content }) => content.length === 0),
    'content must not be empty',
  )
  object(
    [...blocks, ...system].some(({ type, text = '' }) => type === 'text' && text.trim() === ''),
    'text must hold a visible character',
  )
  object(
    [...blocks, ...system, ...tools].filter(({ cache_control }) => cache_control).length > MAX_MARKS,
    `at most ${MAX_MARKS} cache marks`,
  )
  object(
    tools.some(({ name = '', input_schema }) => !NAME.test(name) || input_schema?.type !== 'object'),
    'tools need a name and an object schema',
  )
  object(tools.length === 0 && blocks.some(({ type }) => type.startsWith('tool_')), 'tool blocks need tools')
  object(/\\ud[89a-f]/.test(JSON.stringify(body)), 'lone surrogates')
  return [...found, ...callObjections(messages)]
}

function callObjections(messages: MessagesBody['messages']): readonly string[] {
  const found: string[] = []
  const seen = new Set<string>()
  let asked: readonly string[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const results = content.filter(({ type }) => type === 'tool_result').map(({ tool_use_id = '' }) => tool_use_id)
    const uses = content.filter(({ type }) => type === 'tool_use')
    for (const { id = '', name = '', input } of uses) {
      if (role !== 'assistant') found.push(`messages.${index}: a call of the user`)
      if (seen.has(id)) found.push(`messages.${index}: id ${id} is not unique`)
      if (!NAME.test(name) || !/^[a-zA-Z0-9_-]+$/.test(id)) found.push(`messages.${index}: id ${id} or name ${name}`)
      if (typeof input !== 'object' || input === null || Array.isArray(input)) found.push(`messages.${index}: input`)
      seen.add(id)
    }
    if (JSON.stringify([...results].sort()) !== JSON.stringify([...asked].sort()))
      found.push(`messages.${index}: results of ${results} for calls ${asked}`)
    if (content.slice(0, results.length).some(({ type }) => type !== 'tool_result'))
      found.push(`messages.${index}: results must come first`)
    asked = uses.map(({ id = '' }) => id)
  }
  if (asked.length > 0) found.push('calls without results')
  return found
}
