/** Type of a value in JSON. */
export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'

/** What a field of a request body may be. Paths are dotted, with `[n]` for members of lists: `a.b[0].c`. */
export interface FieldRow {
  readonly type: FieldType
  /** Of the right type and refused all the same. */
  readonly bad?: readonly unknown[]
  readonly mayBeNull?: boolean
}

export const TEXT: FieldRow = { type: 'string' }
export const LIST: FieldRow = { type: 'array' }
export const OBJECT: FieldRow = { type: 'object' }
/** A word of a fixed list, or of a fixed form, of which these are none. */
export const word = (...bad: readonly string[]): FieldRow => ({ type: 'string', bad })

/** A value of each type that JSON has. */
const OF_TYPE: readonly (readonly [FieldType | 'null', unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['integer', 7],
  ['number', 0.5],
  ['string', 'words'],
  ['array', [1]],
  ['object', { a: 1 }],
]

/** A value of every type the field does not have. */
export const wrongTypesOf = ({ type, mayBeNull = false }: FieldRow): readonly unknown[] =>
  OF_TYPE.filter(
    ([given]) => given !== type && !(type === 'number' && given === 'integer') && !(mayBeNull && given === 'null'),
  ).map(([, value]) => value)

export const stepsOf = (path: string): readonly string[] => path.split(/[.[\]]+/).filter(Boolean)

/** A copy of the body with this value at the path; what is missing on the way is made. */
export function withValue(body: object, path: string, value: unknown): object {
  const steps = stepsOf(path)
  const copy = structuredClone(body)
  let at = copy as Record<string, unknown>
  for (const step of steps.slice(0, -1)) {
    at[step] ??= {}
    at = at[step] as Record<string, unknown>
  }
  at[steps.at(-1) ?? ''] = value
  return copy
}

/** What stands at the path. */
export function valueAt(body: object, path: string): unknown {
  let at: unknown = body
  for (const step of stepsOf(path)) at = (at as Record<string, unknown> | undefined)?.[step]
  return at
}
