import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { Stop, say, spawnThrough } from './process.mjs'

/** What confines the commands of runs on Linux: the program, the package it comes in, and what it is there for. */
const PROGRAMS = [
  { program: 'bwrap', package: 'bubblewrap', purpose: 'runs cannot execute commands without it' },
  { program: 'slirp4netns', package: 'slirp4netns', purpose: 'commands get no network without it' },
  { program: 'ip', package: 'iproute2', purpose: 'commands get no network without it' },
]

/** Installs the programs that confine commands where that can be done without asking, else says how. */
export async function requireSandbox() {
  // macOS brings its own.
  if (process.platform !== 'linux') return
  const missing = PROGRAMS.filter(({ program }) => !isInstalled(program))
  if (missing.length === 0) return
  const packages = missing.map(row => row.package).join(' ')
  if (process.getuid?.() !== 0 || !isInstalled('apt-get'))
    throw new Stop(
      `${missing.map(row => `${row.package} (the program ${row.program}) is missing: ${row.purpose}`).join('\n')}
Install what is missing:
  Debian, Ubuntu:  sudo sh -c 'apt-get update && apt-get install -y ${packages}'
  Fedora:          sudo dnf install ${packages.replace('iproute2', 'iproute')}
  Alpine:          sudo apk add ${packages}`,
    )
  say(`system packages are missing: ${packages}`)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await spawnThrough(['apt-get', 'update'], { env, isSetUp: true, title: 'apt-get update' })
  const install = ['apt-get', 'install', '-y', ...missing.map(row => row.package)]
  await spawnThrough(install, { env, isSetUp: true, title: install.join(' ') })
}

/** On the PATH; programs of administrators also where an ordinary user's PATH does not lead. */
const isInstalled = program =>
  [...(process.env.PATH ?? '').split(delimiter), ...(program === 'ip' ? ['/usr/sbin', '/sbin'] : [])].some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
