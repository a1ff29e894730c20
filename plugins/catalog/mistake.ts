import { Failure } from '#contracts/errors'

/** What is wrong in a catalog, and where. `field` is dotted; empty: the file itself. */
export interface Mistake {
  readonly file: string
  readonly field: string
  readonly why: string
}

const MOST_SHOWN = 10

/** One sentence for all of them, the first ten in full. Values are never shown: a file may hold what is nobody's business. */
export function refuseCatalog(mistakes: readonly Mistake[]): Failure {
  const shown = mistakes
    .slice(0, MOST_SHOWN)
    .map(({ file, field, why }) => (field === '' ? `${file}: ${why}` : `${file}: ${field}: ${why}`))
  const more = mistakes.length > shown.length ? `; and ${mistakes.length - shown.length} more` : ''
  return new Failure('invalid_request', `the model catalog cannot be used: ${shown.join('; ')}${more}`)
}
