/** A line of a hunk: kept, removed or added; `text` has its line end, a last line of a file may have none. */
export interface HunkLine {
  readonly op: ' ' | '-' | '+'
  readonly text: string
}

export interface Hunk {
  /** For messages. */
  readonly header: string
  /** Where the author thinks the hunk starts, 0-based; undefined when not told. */
  readonly line?: number
  /** Lines that stand somewhere above, one after the other (`@@ class A`). */
  readonly anchors: readonly string[]
  /** The hunk must fit at the end of the file. */
  readonly isAtEnd: boolean
  readonly lines: readonly HunkLine[]
}

/** What a patch does to one file. */
export type FileChange =
  | { readonly kind: 'add'; readonly path: string; readonly content: string; readonly isExecutable?: boolean }
  | { readonly kind: 'delete'; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: 'update'; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[] }

/** A patch text that cannot be read; the message tells the model what is wrong. */
export interface PatchFault {
  readonly kind: 'fault'
  readonly message: string
}

export const fault = (message: string): PatchFault => ({ kind: 'fault', message })
export const isFault = (value: object): value is PatchFault => 'kind' in value && value.kind === 'fault'
