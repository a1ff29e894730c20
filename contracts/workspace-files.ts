import type { WorkspaceRoots } from './tool/tool.js'

/**
 * Which files a call may touch. A `SandboxPolicy` is one, so file tools hand over `await context.sandboxPolicy()` and
 * obey what a command of the same call would.
 */
export interface FileAccess extends WorkspaceRoots {
  /** Nothing is written, but for `writablePaths`. */
  readonly isReadOnly?: boolean
  /** Files, or folders with all beneath them; absolute, or relative to `root`. */
  readonly writablePaths?: readonly string[]
  /**
   * Single files that stay visible although they lie in a hidden place (the plan file in the state directory); nothing
   * beside them does. Absolute, or relative to `root`.
   */
  readonly shownPaths?: readonly string[]
}

export type FileRefusalCode =
  /** Not a usable path text: empty, too long, NUL or another control character. */
  | 'invalid_path'
  /** Leads out of every root, by `..`, by being absolute, or by a link. */
  | 'outside_workspace'
  /** Inside, but the daemon's own or a control file of git. */
  | 'protected_path'
  /** This run may not write there. */
  | 'read_only'
  | 'not_found'
  | 'already_exists'
  | 'is_a_directory'
  | 'not_a_directory'
  /** A device, FIFO, socket or, where a link is not followed, a link. */
  | 'not_a_file'
  | 'too_large'
  /** The file is not the version the caller knows. */
  | 'stale_write'
  /** The file system said no: permissions, full, read-only, an I/O error. */
  | 'io_error'

/** Why a file was not touched. `message` is a sentence for the model and says what to do. */
export interface FileRefusal {
  readonly kind: 'refused'
  readonly code: FileRefusalCode
  readonly path: string
  readonly message: string
  /** With `stale_write`; an empty text stands for "no such file". */
  readonly expectedVersion?: string
  readonly actualVersion?: string
}

/** A regular file held open: later renames do not change what is read. */
export interface OpenedFile {
  readonly kind: 'opened'
  /** Links and `..` resolved: relative to the root, or absolute beneath an extra directory. */
  readonly path: string
  readonly sizeBytes: number
  /** Up to `lengthBytes` from `position`; shorter only at the end of the file. */
  read(position: number, lengthBytes: number): Promise<Uint8Array>
  close(): void
}

export interface FileContent {
  readonly kind: 'content'
  readonly path: string
  readonly bytes: Uint8Array
  readonly version: string
  /** Permission bits. */
  readonly mode: number
}

export interface FileWritten {
  readonly kind: 'written'
  readonly path: string
  readonly version: string
  readonly isNew: boolean
}

export interface FileRemoved {
  readonly kind: 'removed'
  readonly path: string
}

export interface ReplaceOptions {
  /** Write only if the file has this version now; an empty text: only if there is no file. Default: write anyway. */
  readonly expectedVersion?: string
  /** Permission bits of a new file; an existing one keeps its own. */
  readonly mode?: number
}

/** What a path means at the moment. Good for naming things and for early refusals; whoever acts opens it anew. */
export interface FilePlace {
  readonly kind: 'place'
  /** As `OpenedFile.path`. */
  readonly path: string
  readonly is: 'file' | 'directory' | 'other' | 'missing'
}

export interface DirectoryEntry {
  /** As `OpenedFile.path`. */
  readonly path: string
  /** Relative to the walked directory. */
  readonly relative: string
  readonly kind: 'file' | 'directory' | 'link' | 'other'
}

export interface WalkOptions {
  /** 0 yields only the directory's own entries. */
  readonly depth: number
  /** Says no to a directory before it is opened; `relative` is relative to the walked directory. */
  mayEnter?(relative: string): boolean
}

/** Shown last by a walk that did not see everything (a directory of more than 20,000 entries). */
export interface WalkCut {
  readonly kind: 'cut'
  readonly path: string
}

/** A directory held open, to hand to a program as its working directory. */
export interface HeldDirectory {
  readonly kind: 'held'
  /** As `OpenedFile.path`; empty for the root. */
  readonly path: string
  /** A path that means the held directory, whatever happens to its name. Valid in this process until `close`. */
  readonly descriptorPath: string
  /** Set when the path asked for is a file in it. */
  readonly fileName?: string
  close(): void
}

/**
 * The files beneath a run's roots. Everything is opened from a descriptor of the root, one component at a time, never
 * checked first and opened after: no rename or link made meanwhile leads outside. Links that stay inside work. Only
 * regular files are read or written; nothing blocks on a FIFO or touches a device. Hard links to files outside cannot
 * be told apart when reading; a write replaces the name and leaves the other file alone. Expected outcomes are values.
 */
export interface WorkspaceFiles {
  /** Names what a path means, and refuses what `read` or `replace` would refuse. Touches nothing. */
  resolve(access: FileAccess, path: string, intent: 'read' | 'write'): Promise<FilePlace | FileRefusal>
  /** Opens a regular file for reading. Close it. */
  open(access: FileAccess, path: string): Promise<OpenedFile | FileRefusal>
  /** A whole file with its version, or `too_large`. */
  read(access: FileAccess, path: string, maxBytes: number): Promise<FileContent | FileRefusal>
  /**
   * Puts a whole file in place, atomically: a crash leaves the old bytes or the new ones. Makes missing parents, keeps
   * the permission bits of an existing file (never set-id bits), writes through links that stay inside. Replacements
   * of one file by this daemon happen one after the other; a foreign writer between the version check and the rename
   * loses.
   */
  replace(
    access: FileAccess,
    path: string,
    bytes: Uint8Array,
    options?: ReplaceOptions,
  ): Promise<FileWritten | FileRefusal>
  /** Removes a regular file, of this version when given. A link is refused. */
  remove(access: FileAccess, path: string, options?: ReplaceOptions): Promise<FileRemoved | FileRefusal>
  /** Entries below a directory, sorted by name, a directory before what is in it. Links are shown, never followed. */
  walk(
    access: FileAccess,
    path: string,
    options: WalkOptions,
    signal: AbortSignal,
  ): AsyncIterable<DirectoryEntry | WalkCut | FileRefusal>
  /** Holds a directory, or the directory of a file, open. Close it. */
  hold(access: FileAccess, path: string): Promise<HeldDirectory | FileRefusal>
  /** The version that `read` and `replace` tell: a short hash of the bytes. */
  versionOf(bytes: Uint8Array): string
}
