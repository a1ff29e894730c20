import type { Static, TSchema } from '@sinclair/typebox'

/** Directories that defaults of other settings start from, all absolute. */
export interface Places {
  readonly workspace: string
  /** The daemon's state in the workspace. */
  readonly state: string
  /** The operator's state in the home directory. */
  readonly global: string
}

/**
 * What the project file, which lies in a workspace that agents write to, may do with a setting. `sets`: it is a layer
 * like any other. `tightens`: it may only choose the stricter value. `ignored`: only the operator decides.
 */
export type ProjectRight = 'sets' | 'tightens' | 'ignored'

/** One row of the settings table. The key is the row's name in the table. */
export interface Setting<S extends TSchema = TSchema> {
  /** Environment variable; undefined: config files only. */
  readonly env: string | undefined
  /** Also says what a value must look like; a value that does not is reported and the layer below keeps its say. */
  readonly type: S
  readonly default: Static<S>
  readonly about: string
  /** `hot`: in force after a reload, for what starts then. */
  readonly reload: 'hot' | 'restart'
  readonly secret: boolean
  readonly project: ProjectRight
  /** With `project: 'tightens'`: is `to` at least as strict as `from`? */
  readonly tightens: ((to: Static<S>, from: Static<S>) => boolean) | undefined
  /** A file system path: `~/` is the home directory, relative starts at the working directory, shown absolute. */
  readonly isPath: boolean
  /** Where an empty path stands for a place known only at start-up; `text` shows it in documentation. */
  readonly place: { readonly text: string; readonly of: (places: Places) => string } | undefined
}

type Draft<S extends TSchema> = Pick<Setting<S>, 'env' | 'type' | 'default' | 'about' | 'reload'> &
  Partial<Pick<Setting<S>, 'secret' | 'project' | 'tightens' | 'isPath' | 'place'>>

/** A row with the careful choices filled in: not a secret, and not for the project file to decide. */
export const setting = <S extends TSchema>(draft: Draft<S>): Setting<S> =>
  Object.freeze({
    secret: false,
    project: 'ignored',
    tightens: undefined,
    isPath: draft.place !== undefined,
    place: undefined,
    ...draft,
  })
