import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { type BenchPlace, openBenchPlace } from './bench-place.js'

/**
 * Each probe tries to get out. What counts is what the host sees: the canary in the output, a changed file outside, a
 * changed control file, a hit on a listener, a neighbour that died, or the word `GOTIT`. Unless `isUnprovable`, the
 * same probe is run without confinement and has to succeed there, so a probe that could never succeed is found out.
 */
export interface Probe {
  readonly name: string
  readonly script: string
  readonly network?: 'allow' | 'deny'
  readonly isUnprovable?: boolean
}

export interface EscapeBench {
  /** Which ways out the probe found. */
  escapes(probe: Probe, scope: 'workspace' | 'local' | 'unrestricted'): Promise<readonly string[]>
  close(): Promise<void>
}

export const perl = (code: string) => `perl -e '${code}'`

/** `HOST_ADDRESS` and `HOST_ADDRESS6`: addresses of this machine besides 127.0.0.1, for probes that aim at them. */
export async function openEscapeBench(addresses: Readonly<Record<string, string>> = {}): Promise<EscapeBench> {
  const place = openBenchPlace()
  const servers: (Server | UdpSocket)[] = []
  let hits: string[] = []
  const listen = (name: string, at: object) =>
    new Promise<number>(done => {
      const server = createServer(socket => {
        hits.push(name)
        socket.on('error', () => {}).end()
      })
      servers.push(server)
      server.listen(at, () => {
        const address = server.address()
        done(typeof address === 'object' && address ? address.port : 0)
      })
    })
  const listenForDatagrams = async (family: 'udp4' | 'udp6', address: string) => {
    const udp = createSocket(family).on('message', () => hits.push(family))
    servers.push(udp)
    await new Promise<void>(done => udp.bind(0, address, done))
    return udp.address().port
  }
  const shared = `/dev/shm/bench-${process.pid}`
  const hostTemp = join(place.root, '../temp')
  mkdirSync(hostTemp)
  for (const path of [join(hostTemp, 'note'), shared]) writeFileSync(path, place.canary)
  const sockets = {
    UNIX: join(place.root, 's'),
    UNIX_OUTSIDE: join(place.outside, 's'),
    UNIX_TEMP: join(hostTemp, 's'),
  }
  for (const [name, path] of Object.entries(sockets)) await listen(name, { path })
  const abstract = `bench-${process.pid}`
  await listen('abstract', { path: `\0${abstract}` })
  const env = {
    ...addresses,
    ...sockets,
    OUT: place.outside,
    SECRET_HOME: place.home,
    HOST_TEMP: hostTemp,
    TCP: String(await listen('tcp', { port: 0, host: '::' })),
    UDP: String(await listenForDatagrams('udp4', '0.0.0.0')),
    UDP6: String(await listenForDatagrams('udp6', '::1')),
    ABSTRACT: abstract,
    HOST_NAME: readFileSync('/proc/sys/kernel/hostname', 'utf8').trim(),
  }
  let neighbour: ChildProcess | undefined
  const livingNeighbour = () => {
    if (neighbour?.exitCode !== null || neighbour.signalCode !== null)
      neighbour = spawn('sleep', ['600'], { env: { NEIGHBOUR_SECRET: place.canary } })
    return neighbour
  }
  return {
    async escapes({ script, network }, scope) {
      const { pid } = livingNeighbour()
      restore(place)
      hits = []
      const before = hostView(place)
      const { output } = await place.run(
        script,
        { scope, network: network ?? 'deny', tenantId: 'prober' },
        { env: { ...env, NEIGHBOUR: String(pid) } },
      )
      await new Promise(done => setImmediate(done))
      await new Promise(done => setImmediate(done))
      const changed = JSON.stringify(before) !== JSON.stringify(hostView(place))
      const isNeighbourDead = !existsSync(`/proc/${pid}`) || neighbour?.signalCode !== null
      return [
        ...(output.includes(place.canary) ? ['read a secret'] : []),
        ...(output.includes('GOTIT') ? ['got it'] : []),
        ...(changed ? ['changed the host'] : []),
        ...(isNeighbourDead ? ['killed a neighbour'] : []),
        ...hits.map(hit => `reached ${hit}`),
      ]
    },
    async close() {
      for (const server of servers) server.close()
      neighbour?.kill('SIGKILL')
      rmSync(shared, { force: true })
      await place.close()
    },
  }
}

/** Everything the host can see of the world outside and of the control files. */
function hostView(place: BenchPlace) {
  const look = (dir: string): readonly string[] =>
    !existsSync(dir) || !lstatSync(dir).isDirectory()
      ? [`${dir} gone`]
      : readdirSync(dir).map(name => {
          const stats = lstatSync(join(dir, name))
          const text = stats.isFile() ? readFileSync(join(dir, name), 'utf8') : ''
          return [name, stats.mode, stats.isFile() ? stats.mtimeMs : 0, text].join(' ')
        })
  const git = join(place.root, '.git')
  return [
    ...look(place.outside),
    ...look(join(git, 'hooks')),
    ...look(git).filter(line => /^(config|commondir) /.test(line)),
  ]
}

function restore(place: BenchPlace) {
  for (const path of ['new', 'gone', 'victim']) rmSync(join(place.outside, path), { recursive: true, force: true })
  writeFileSync(join(place.outside, 'victim'), 'untouched', { mode: 0o644 })
  for (const path of ['l', 'h', 'd', 'h2', 'c2', 'g2', 'old', 'stolen'])
    rmSync(join(place.root, path), { recursive: true, force: true })
  const git = join(place.root, '.git')
  for (const path of ['hooks', 'config', 'config.lock', 'commondir'])
    rmSync(join(git, path), { recursive: true, force: true })
  mkdirSync(join(git, 'hooks'), { recursive: true })
  for (const dir of ['objects', 'refs']) mkdirSync(join(git, dir), { recursive: true })
  writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(git, 'config'), '[core]\n')
  writeFileSync(join(git, 'hooks/pre-commit'), '#!/bin/sh\n')
}
