import type { BenchModel } from '../model.js'
import type { Subject } from '../subject.js'

/** Figures by name; what the names mean stands in `rows.ts`. */
export type Figures = Readonly<Record<string, number>>

/** What a cell has to work with. */
export interface CellContext {
  readonly subject: Subject
  readonly model: BenchModel
  /** A short run that only shows that everything works. */
  readonly isSmoke: boolean
}

/** Measures one thing on a running subject. Bounded in count and in time; rejects when a run fails. */
export type Cell = (context: CellContext) => Promise<Figures>

/** Rejects when `work` takes longer than the limit. */
export async function within<T>(limitMs: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
