import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BubblewrapConfig } from './config.js'
import { planNetwork } from './network-plan.js'
import { Networks } from './networks.js'
import { NetworkProblem, type PrivateNetwork } from './private-network.js'
import { findProgram, isWritable } from './program.js'
import { real } from './real-path.js'
import { removeTree } from './remove-tree.js'
import { compileSocketFilter } from './seccomp.js'
import { openSpawner, type Spawner } from './spawner.js'

/** What the commands of a sandbox stand on as long as one spawner lives. */
export interface Ground {
  readonly spawner: Spawner
  readonly networks: Networks
  /** An empty file and an empty directory. */
  readonly blank: string
  readonly void: string
  /** The private /tmp of a session. */
  sessionDir(session: string): string
  endSession(session: string): Promise<void>
  /** One for each workspace: what one tenant's builds left in a cache is not what another's trust. */
  privateHome(root: string): string
}

export interface GroundOptions {
  readonly config: BubblewrapConfig
  readonly bash: string
  /** Where programs are looked for. */
  readonly path: readonly string[]
  readonly home: string | undefined
}

export function openGround({ config, bash, path, home }: GroundOptions): Ground {
  const spawner = openSpawner({
    bash,
    controlParent: ['/dev/shm', tmpdir(), '/tmp'].map(real).find(dir => dir !== undefined && isWritable(dir)) ?? '/tmp',
    tempParent: real(tmpdir()) ?? '/tmp',
    path: path.join(':'),
    maxProcesses: config.max_processes,
    maxMemoryMb: config.max_memory_mb,
  })
  const [blank, empty] = [join(spawner.dir, 'blank'), join(spawner.dir, 'void')]
  writeFileSync(blank, '', { mode: 0o444 })
  mkdirSync(empty, { mode: 0o555 })
  writeFileSync(join(spawner.dir, 'none.filter'), '')
  for (const network of ['allow', 'deny'] as const)
    writeFileSync(join(spawner.dir, `${network}.filter`), compileSocketFilter(network, process.arch) ?? '')
  const sessionPath = (session: string) => join(spawner.tempDir, shortHash(session))
  const preferred = config.cache_dir || (home && join(home, '.cache', 'runwright'))
  return {
    spawner,
    networks: new Networks(() => openNetwork(spawner, path, config), config.network_idle_seconds * 1000),
    blank,
    void: empty,
    sessionDir(session) {
      const dir = sessionPath(session)
      if (mkdirSync(dir, { recursive: true })) chmodSync(dir, 0o1777)
      return dir
    },
    endSession: session => removeTree(sessionPath(session)),
    privateHome(root) {
      for (const base of [preferred, spawner.tempDir]) {
        if (!base) continue
        try {
          const dir = join(base, 'homes', shortHash(root))
          mkdirSync(dir, { recursive: true, mode: 0o700 })
          return real(dir) ?? dir
        } catch {
          // Not writable for us: the next one is.
        }
      }
      return empty
    },
  }
}

const SYSTEM_DIRS = ['/usr/sbin', '/sbin']

async function openNetwork(
  spawner: Spawner,
  path: readonly string[],
  { host_services: hostServices }: BubblewrapConfig,
): Promise<PrivateNetwork> {
  const find = (name: string, more: readonly string[] = []) => {
    const program = findProgram([...path, ...more], name)
    if (!program) throw new NetworkProblem(`the program \`${name}\` was not found`)
    return program
  }
  // Ordinary users often have no administrators' programs on their PATH.
  const programs = { slirp4netns: find('slirp4netns'), ip: find('ip', SYSTEM_DIRS), unshare: find('unshare') }
  const resolver = real('/etc/resolv.conf') ? readFileSync('/etc/resolv.conf', 'utf8') : ''
  return spawner.openNetwork(programs, planNetwork({ interfaces: networkInterfaces(), resolver, hostServices }))
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24)
