import { closeSync, constants, openSync, readSync } from 'node:fs'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * True when no process holds an end of the named pipe. A command can hand its descriptors on through a Unix socket, also
 * to a command of somebody else, and open a pipe it writes for reading.
 */
export function isUnused(pipe: string): boolean {
  return failureOf(() => closeSync(openSync(pipe, O_WRONLY | O_NONBLOCK))) === 'ENXIO' && hasNoWriter(pipe)
}

function hasNoWriter(pipe: string): boolean {
  let fd: number | undefined
  let count = -1
  failureOf(() => {
    fd = openSync(pipe, O_RDONLY | O_NONBLOCK)
    count = readSync(fd, oneByte)
  })
  if (fd !== undefined) closeSync(fd)
  return count === 0
}

const oneByte = Buffer.alloc(1)

function failureOf(attempt: () => void): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}
