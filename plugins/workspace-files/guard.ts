import type { FileAccess, FileRefusal } from '#contracts/workspace-files'
import type { WorkspaceFilesConfig } from './config.js'
import { refuse } from './refusal.js'

export type Intent = 'read' | 'write'

/** A name beneath a root, links resolved as far as it exists. */
export interface Spot {
  /** The root as configured and as it really is. */
  readonly given: string
  readonly real: string
  readonly components: readonly string[]
}

/** Decides by name which places inside the workspace are closed. Git compares its names without case on some disks, so do we. */
export class Guard {
  readonly #hidden: ReadonlySet<string>
  readonly #protected: ReadonlySet<string>
  readonly #protectedPaths: readonly string[]

  constructor(config: WorkspaceFilesConfig) {
    this.#hidden = new Set(config.hidden_names.map(fold))
    this.#protected = new Set(config.protected_names.map(fold))
    this.#protectedPaths = config.protected_paths
  }

  /** Called for every prefix of a path, before anything there is opened or made. */
  check(access: FileAccess, spot: Spot, intent: Intent, path: string): FileRefusal | undefined {
    if (this.#isClosed(access, spot) && !isShown(spot, access) && !isPassage(spot, access)) return belongsToDaemon(path)
    if (intent === 'read') return undefined
    const name = fold(spot.components.at(-1) ?? '')
    if (this.#protected.has(name) || reaches(spot, this.#protectedPaths, access.root))
      return refuse(
        'protected_path',
        path,
        `${path} is a control file: writing it could run code or change who may do what. Leave it; for git use git commands.`,
      )
    return undefined
  }

  /** Called for the directory a path ends at: a hidden one may be passed through towards a shown file, never used. */
  checkEnd(access: FileAccess, spot: Spot, path: string): FileRefusal | undefined {
    return this.isHidden(access, spot) ? belongsToDaemon(path) : undefined
  }

  /** True for a name that listings leave out. */
  isHidden(access: FileAccess, spot: Spot): boolean {
    return this.#isClosed(access, spot) && !isShown(spot, access)
  }

  /** Hidden itself; where a hidden place may be passed through, also hidden by what it lies in. */
  #isClosed(access: FileAccess, spot: Spot): boolean {
    const isHere = ({ components }: Spot): boolean => this.#hidden.has(fold(components.at(-1) ?? ''))
    const closes = (at: Spot): boolean => isHere(at) || reaches(at, access.hiddenPaths, access.root)
    if (closes(spot)) return true
    if (!access.shownPaths?.length) return false
    return spot.components.some((_, index) => closes({ ...spot, components: spot.components.slice(0, index) }))
  }

  /** May this run write here at all? Asked for the final name only. */
  mayWrite(access: FileAccess, spot: Spot, path: string): FileRefusal | undefined {
    if (!access.isReadOnly || isBeneath(spot, access.writablePaths, access.root)) return undefined
    const open = access.writablePaths ?? []
    const rest = open.length > 0 ? ` Only these may be written: ${open.join(', ')}.` : ''
    return refuse('read_only', path, `This run may not change ${path} now.${rest}`)
  }
}

const fold = (name: string): string => name.toLowerCase()

const absolutes = (spot: Spot, length = spot.components.length): readonly string[] => {
  const tail = spot.components
    .slice(0, length)
    .map(part => `/${part}`)
    .join('')
  return [trim(spot.given) + tail, trim(spot.real) + tail]
}

const trim = (path: string): string => path.replace(/\/+$/, '')

const absolute = (path: string, root: string): string =>
  trim(path.startsWith('/') ? path : `${trim(root)}/${path.replace(/^(\.\/)+/, '')}`)

/** The spot is exactly one of the paths; for the root itself never, it was granted. */
const reaches = (spot: Spot, paths: readonly string[] | undefined, root: string): boolean => {
  if (paths === undefined || paths.length === 0 || spot.components.length === 0) return false
  const names = absolutes(spot)
  return paths.some(path => names.includes(absolute(path, root)))
}

/** The spot is a file that stays visible. */
const isShown = (spot: Spot, { shownPaths, root }: FileAccess): boolean => reaches(spot, shownPaths, root)

/** The spot is a directory on the way to one. */
const isPassage = (spot: Spot, { shownPaths = [], root }: FileAccess): boolean => {
  if (shownPaths.length === 0) return false
  const names = absolutes(spot)
  return shownPaths.some(path => names.some(name => absolute(path, root).startsWith(`${name}/`)))
}

const belongsToDaemon = (path: string): FileRefusal =>
  refuse('protected_path', path, `${path} belongs to the daemon (state, keys, databases). Tools may not use it.`)

const isBeneath = (spot: Spot, paths: readonly string[] | undefined, root: string): boolean => {
  if (paths === undefined) return false
  const names = absolutes(spot)
  return paths.some(path => {
    const limit = absolute(path, root)
    return names.some(name => name === limit || name.startsWith(`${limit}/`))
  })
}
