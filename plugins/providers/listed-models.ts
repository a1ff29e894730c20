import type { ListedModel } from '#contracts/model/providers'

const MOST_MODELS = 5000
const LONGEST_ID = 256
const LONGEST_NAME = 200
const MOST_MODALITIES = 10
const PRINTABLE = /^[^\u0000-\u001f\u007f]+$/

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a provider's model list, as the vendors write them: `{data: [...]}`, `{models: [...]}` or a bare list. What cannot be
 * read is left out, entry by entry and field by field; so is everything after the first 5,000 models.
 */
export function readListedModels(body: unknown, prefix: string): readonly ListedModel[] {
  const listed = new Map<string, ListedModel>()
  for (const row of rowsOf(body)) {
    const model = isFields(row) ? readModel(row, prefix) : undefined
    if (model !== undefined && !listed.has(model.id)) listed.set(model.id, model)
    if (listed.size === MOST_MODELS) break
  }
  return [...listed.values()]
}

function rowsOf(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body
  if (!isFields(body)) return []
  const rows = Array.isArray(body.data) ? body.data : body.models
  return Array.isArray(rows) ? rows : []
}

function readModel(row: Fields, prefix: string): ListedModel | undefined {
  const given = text(row.id, LONGEST_ID)
  const id = prefix !== '' && given?.startsWith(prefix) ? given.slice(prefix.length) : given
  if (id === undefined || id === '') return undefined
  const top = fields(row.top_provider)
  const pricing = fields(row.pricing)
  return withoutGaps({
    id,
    displayName: text(row.display_name, LONGEST_NAME) ?? text(row.name, LONGEST_NAME),
    contextWindow: tokens(row.context_length) ?? tokens(row.max_input_tokens) ?? tokens(top.context_length),
    maxOutputTokens: tokens(row.max_tokens) ?? tokens(top.max_completion_tokens),
    inputPerMillionUsd: perMillion(pricing.prompt),
    outputPerMillionUsd: perMillion(pricing.completion),
    modalities: words(fields(row.architecture).input_modalities),
  })
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const fields = (value: unknown): Fields => (isFields(value) ? value : {})

const text = (value: unknown, longest: number): string | undefined =>
  typeof value === 'string' && value.length <= longest && PRINTABLE.test(value) ? value : undefined

const tokens = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

function words(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const found = value.slice(0, MOST_MODALITIES).filter(word => text(word, 20) !== undefined)
  return found.length > 0 ? found : undefined
}

const DECIMAL = /^(\d{0,20})(?:\.(\d{0,30}))?(?:e([+-]?\d{1,2}))?$/i

/** Dollars per token as dollars per million, without a rounding between: the point moves by six places. */
function perMillion(value: unknown): number | undefined {
  const given = typeof value === 'number' ? String(value) : value
  const match = typeof given === 'string' && /\d/.test(given) ? DECIMAL.exec(given.trim()) : null
  if (match === null) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  return Number(`${whole || '0'}.${fraction || '0'}e${Number(exponent) + 6}`)
}

function withoutGaps(model: { readonly [K in keyof ListedModel]: ListedModel[K] | undefined }): ListedModel {
  const kept = Object.entries(model).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as unknown as ListedModel
}
