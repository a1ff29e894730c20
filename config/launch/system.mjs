import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Stop, say, spawnThrough } from './process.mjs'

const COMMAND = 'apt-get update && apt-get install -y bubblewrap'

/** Commands of runs are confined by bubblewrap. Installs it where that can be done without asking, else says how. */
export async function requireBubblewrap() {
  if (isOnPath('bwrap')) return
  if (process.getuid?.() !== 0 || !isOnPath('apt-get'))
    throw new Stop(
      `bubblewrap (the program bwrap) is missing: runs cannot execute commands without it. Install it:
  Debian, Ubuntu:  sudo sh -c '${COMMAND}'
  Fedora:          sudo dnf install bubblewrap
  Alpine:          sudo apk add bubblewrap`,
    )
  say('the system package bubblewrap is missing')
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await spawnThrough(['apt-get', 'update'], { env, isSetUp: true, title: 'apt-get update' })
  await spawnThrough(['apt-get', 'install', '-y', 'bubblewrap'], {
    env,
    isSetUp: true,
    title: 'apt-get install -y bubblewrap',
  })
}

const isOnPath = program =>
  (process.env.PATH ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
