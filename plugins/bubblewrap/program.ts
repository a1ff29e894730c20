import { accessSync, constants } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

export const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The first program of that name. */
export const findProgram = (path: readonly string[], name: string): string | undefined =>
  path.map(dir => join(dir, name)).find(isExecutable)

export const isExecutable = (path: string): boolean => may(path, constants.X_OK)
export const isWritable = (path: string): boolean => may(path, constants.W_OK)

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** What every command is given; nothing of it comes from the daemon's environment but the PATH. */
export const environmentOf = (path: readonly string[], home = '/tmp'): Readonly<Record<string, string>> => ({
  PATH: path.join(':'),
  HOME: home,
  USER: userInfo().username,
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  // Inside, root may not give files away, which tar would otherwise try for every file.
  ...(process.getuid?.() === 0 ? { TAR_OPTIONS: '--no-same-owner' } : {}),
})
