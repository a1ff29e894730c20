import { closeSync, constants, fstatSync, open, readlinkSync, type Stats, statfsSync } from 'node:fs'
import { promisify } from 'node:util'

const openFile = promisify(open)
/** Linux `O_PATH`: names a file without opening it, so that FIFOs do not block and devices notice nothing. */
const O_PATH = 0o10000000
/** proc, sysfs, debugfs, tracefs, securityfs, bpf, cgroup, cgroup2: not files but the kernel talking. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11, 0x27e0eb, 0x63677270,
])

/** An object of the file system held by number. Whatever happens to its name, it stays the same object. */
export interface Descriptor {
  readonly fd: number
  readonly stats: Stats
}

/** The path by which system calls reach a held object, or a name right beneath it. */
export const heldPath = (fd: number, name?: string): string =>
  name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`

/** Names a directory by an ordinary path; links in it are followed, it is the operator's. */
export const holdRoot = async (path: string): Promise<Descriptor> =>
  describe(await openFile(path, O_PATH | constants.O_DIRECTORY))

/** Names what stands under one name in a held directory; a link is held itself. `name` has no slash and is not `..`. */
export const holdChild = async (directory: number, name: string): Promise<Descriptor> =>
  describe(await openFile(heldPath(directory, name), O_PATH | constants.O_NOFOLLOW))

/** Names what stands at an ordinary path; a link at its end is held itself, links on the way are followed. */
export const holdByPath = async (path: string): Promise<Descriptor> =>
  describe(await openFile(path, O_PATH | constants.O_NOFOLLOW))

/** Opens a held regular file for reading: the very object that was looked at. */
export const reopenForReading = (fd: number): Promise<number> =>
  openFile(heldPath(fd), constants.O_RDONLY | constants.O_NONBLOCK)

/** Makes a file that must not exist yet in a held directory. */
export const createChild = (directory: number, name: string, mode: number): Promise<number> =>
  openFile(
    heldPath(directory, name),
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode,
  )

/** Closing a held object waits for nothing, so it is done at once. */
export const release = (fd: number): void => closeSync(fd)

/** Where a held object is at the moment. */
export const whereabouts = (fd: number): string => readlinkSync(heldPath(fd))

/** True when the object belongs to procfs or one of its like. */
export const isOfTheKernel = (fd: number): boolean => KERNEL_FILE_SYSTEMS.has(statfsSync(heldPath(fd)).type)

function describe(fd: number): Descriptor {
  try {
    return { fd, stats: fstatSync(fd) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
