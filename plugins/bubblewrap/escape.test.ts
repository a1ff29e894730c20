import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BenchPlace, openBenchPlace } from './bench-place.js'

/**
 * Each probe tries to get out. What counts is what the host sees: the canary in the output, a changed file outside, a
 * changed control file, a hit on a listener, a neighbour that died, or the word `GOTIT`. Unless `isUnprovable`, the
 * same probe is run without confinement and has to succeed there, so a probe that could never succeed is found out.
 */
interface Probe {
  readonly name: string
  readonly script: string
  readonly network?: 'allow'
  readonly isUnprovable?: true
}

const [SOCKET, IO_URING] = process.arch === 'arm64' ? [198, 425] : [41, 425]
const SOCKETPAIR = process.arch === 'arm64' ? 199 : 53
const perl = (code: string) => `perl -e '${code}'`
const nodeConnect = (target: string) =>
  `node -e 'require("net").connect(${target}).on("connect",()=>process.exit()).on("error",()=>process.exit())'`

const WRITES: readonly Probe[] = [
  { name: 'redirection to an absolute path', script: 'echo x >"$OUT/new"' },
  { name: 'dot-dot path', script: 'echo x >"$(realpath --relative-to=. "$OUT")/new"' },
  { name: 'symlink to a directory', script: 'ln -sfn "$OUT" l; echo x >l/new' },
  { name: 'symlink to a file', script: 'ln -sfn "$OUT/victim" l; echo x >>l' },
  { name: 'hard link', script: 'rm -f h; ln "$OUT/victim" h && echo x >>h || echo x >>"$OUT/victim"' },
  { name: 'rename out of the way', script: 'mv "$OUT/victim" "$OUT/gone"' },
  { name: 'rename into the workspace', script: 'mv "$OUT/victim" stolen' },
  { name: 'removal', script: 'rm -rf "$OUT/victim"' },
  { name: 'change of mode', script: 'chmod 777 "$OUT/victim"' },
  { name: 'truncation', script: 'truncate -s 0 "$OUT/victim"' },
  { name: 'change of times', script: 'touch -d 2001-01-01 "$OUT/victim"' },
  { name: 'new directory', script: 'mkdir "$OUT/new"' },
  { name: 'fifo', script: 'mkfifo "$OUT/new"' },
  { name: 'write by another program', script: perl('open(F,">",$ENV{OUT}."/new");print F 1') },
  { name: 'through the root of pid 1', script: 'echo x >"/proc/1/root$OUT/new"' },
  { name: 'through the root of itself', script: 'echo x >"/proc/self/root$OUT/new"' },
  { name: 'remount writable', script: 'mount -o remount,rw / ; mount -o remount,rw,bind "$OUT"; echo x >"$OUT/new"' },
  { name: 'bind mount over', script: 'mount --bind / /mnt; echo x >"/mnt$OUT/new" || echo x >"$OUT/new"' },
  {
    name: 'user namespace of its own',
    script: 'unshare -Urm sh -c \'mount -o remount,rw /; echo x >"$OUT/new"\' || echo x >"$OUT/new"',
  },
  ...[
    ['chmod', 'chmod u+s sid'],
    ['chmod of the group', 'chmod g+s sid'],
    ['install', 'install -m 4755 /bin/true sid'],
    ['fchmod', perl('open(F,"<","sid");chmod(04755,*F)')],
    ['creation', `rm sid; ${perl('use Fcntl;umask 0;sysopen(F,"sid",O_CREAT|O_WRONLY,04755)')}`],
    ['fchmodat2', perl('my $n="sid";syscall(452,-100,$n,04755,0)')],
    ['openat2', `rm sid; ${perl('my $n="sid";my $h=pack("QQQ",65,04755,0);syscall(437,-100,$n,$h,24)')}`],
    ['an archive', `tar --mode=4755 -cf sid.tar sid; rm sid; tar -xpf sid.tar; rm sid.tar`],
  ].map(([name, script]) => ({
    name: `set-id bit by ${name}`,
    script: `cp /bin/true sid; ${script}; [ -u sid ] || [ -g sid ] && echo GOTIT; rm -f sid`,
  })),
  { name: 'background writer', script: '(setsid sh -c \'echo x >"$OUT/new"\' &); sleep 0.1' },
  {
    name: 'kernel settings',
    script:
      'for f in /proc/sys/kernel/core_pattern /proc/irq/*/smp_affinity /proc/sysrq-trigger; do (: >>$f) && echo GOTIT; done',
    isUnprovable: true,
  },
  {
    name: 'kernel objects',
    script: 'find /sys -name uevent_helper -o -name release_agent | while read f; do echo x >"$f" && echo GOTIT; done',
    isUnprovable: true,
  },
  {
    name: 'device node',
    script:
      'for n in /sys/dev/block/*; do IFS=: read a b <"$n/dev"; mknod d b $a $b && head -c 1 d && echo GOTIT; done',
    isUnprovable: true,
  },
  {
    name: 'host devices',
    script: 'for d in /dev/*d[ab] /dev/mem /dev/kmsg /dev/loop*; do [ -e "$d" ] && echo GOTIT; done',
    isUnprovable: true,
  },
]

const READS: readonly Probe[] = [
  ...['root', 'cwd', 'environ', 'fd', 'mem', 'maps', 'map_files'].map(name => ({
    name: `/proc/<neighbour>/${name}`,
    script: `ls "/proc/$NEIGHBOUR/${name}/" "/proc/$NEIGHBOUR/${name}" && echo GOTIT`,
    isUnprovable: true as const,
  })),
  ...['.ssh/id_ed25519', '.aws/credentials', '.config/gh/hosts.yml', '.netrc', '.npmrc', '.gnupg/secring.gpg'].map(
    name => ({ name: `home ~/${name}`, script: `cat "$SECRET_HOME/${name}"` }),
  ),
  ...['.docker/config.json', '.kube/config', '.git-credentials', '.cargo/credentials.toml', 'notes.txt'].map(name => ({
    name: `home ~/${name}`,
    script: `cat "$SECRET_HOME/${name}"`,
  })),
  { name: 'everything in the home', script: 'find "$SECRET_HOME" -type f -exec cat {} +' },
  { name: 'home behind a link', script: 'ln -sfn "$SECRET_HOME" l; cat l/.ssh/*' },
  { name: 'home through pid 1', script: 'cat "/proc/1/root$SECRET_HOME/.npmrc"' },
  { name: 'daemon database', script: 'cat .runwright/state.db' },
  { name: 'daemon journal', script: 'cat .runwright/state.db-wal' },
  { name: 'daemon keys', script: 'cat .runwright/keys/*' },
  { name: 'daemon state moved away', script: 'mv .runwright away && cat away/state.db; mv away .runwright' },
  { name: 'daemon state behind a link', script: 'ln -sfn .runwright l; cat l/state.db' },
  {
    name: 'daemon state unmounted',
    script: 'umount -l .runwright; unshare -Urm umount .runwright; cat .runwright/state.db',
  },
  { name: 'temporary files of the host', script: 'cat "$HOST_TEMP"/*' },
  { name: 'shared memory of the host', script: 'cat /dev/shm/bench-*' },
  { name: 'environment of the daemon', script: 'cat /proc/*/environ | tr "\\0" "\\n"', isUnprovable: true },
  { name: 'command lines of the host', script: 'cat /proc/*/cmdline | tr "\\0" " "', isUnprovable: true },
  {
    name: 'neighbour process is seen',
    script: 'kill -0 "$NEIGHBOUR" && [ "$(cat /proc/$NEIGHBOUR/comm)" = sleep ] && echo GOTIT',
    isUnprovable: true,
  },
  { name: 'password hashes', script: 'grep -q : /etc/shadow && echo GOTIT', isUnprovable: true },
]

const CONTROL_FILES: readonly Probe[] = [
  { name: 'existing hook', script: 'echo evil >>.git/hooks/pre-commit' },
  { name: 'new hook', script: 'echo evil >.git/hooks/post-checkout' },
  {
    name: 'hook behind a new hooks directory',
    script: 'rm -rf .git/hooks; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit',
  },
  {
    name: 'hooks replaced by rename',
    script: 'mkdir h2; echo evil >h2/pre-commit; mv .git/hooks old; mv h2 .git/hooks',
  },
  { name: 'config appended', script: 'echo "[core] fsmonitor=evil" >>.git/config' },
  { name: 'config through git', script: 'git config core.fsmonitor evil' },
  { name: 'config replaced by rename', script: 'echo evil >c2; mv -f c2 .git/config' },
  { name: 'config and hooks from another place', script: 'mkdir -p g2; echo ../g2 >.git/commondir' },
  { name: 'repository replaced', script: 'cp -r .git g2; echo evil >g2/config; mv .git old && mv g2 .git' },
  { name: 'config through another link', script: 'ln .git/config h && echo evil >>h || echo evil >>.git/config' },
]

const NETWORK: readonly Probe[] = [
  { name: 'TCP by the shell', script: 'echo x >"/dev/tcp/127.0.0.1/$TCP"' },
  { name: 'TCP by a program', script: nodeConnect('process.env.TCP,"127.0.0.1"') },
  { name: 'TCP over IPv6', script: nodeConnect('process.env.TCP,"::1"') },
  { name: 'TCP to a mapped address', script: nodeConnect('process.env.TCP,"::ffff:127.0.0.1"') },
  { name: 'TCP to another loopback address', script: 'echo x >"/dev/tcp/127.1.2.3/$TCP"' },
  { name: 'UDP', script: 'echo x >"/dev/udp/127.0.0.1/$UDP"; sleep 0.05' },
  {
    name: 'UDP by a program',
    script: `node -e 'require("dgram").createSocket("udp4").send("x",process.env.UDP,"127.0.0.1",()=>process.exit())'`,
  },
  { name: 'Unix socket in the workspace', script: nodeConnect('process.env.UNIX') },
  { name: 'Unix socket outside', script: nodeConnect('process.env.UNIX_OUTSIDE') },
  {
    name: 'abstract Unix socket',
    script: nodeConnect('"\\0"+process.env.ABSTRACT'),
  },
  { name: 'Unix datagram socket', script: perl(`print "GOTIT" if syscall(${SOCKET},1,2,0)>=0`) },
  { name: 'Unix datagram pair', script: perl(`my $p="x"x8;print "GOTIT" if syscall(${SOCKETPAIR},1,2,0,$p)>=0`) },
  {
    name: 'every other family',
    script: perl(
      `for my $f (0..60){next if $f==2||$f==10||$f==16;for my $t (1,2,3,5){print "GOTIT $f " if syscall(${SOCKET},$f,$t,0)>=0}}`,
    ),
  },
  { name: 'vsock', script: perl(`print "GOTIT" if syscall(${SOCKET},40,1,0)>=0`), isUnprovable: true },
  { name: 'packet socket', script: perl(`print "GOTIT" if syscall(${SOCKET},17,3,0)>=0`), isUnprovable: true },
  { name: 'raw socket', script: perl(`print "GOTIT" if syscall(${SOCKET},2,3,1)>=0`), isUnprovable: true },
  { name: 'kernel crypto socket', script: perl(`print "GOTIT" if syscall(${SOCKET},38,5,0)>=0`), isUnprovable: true },
  {
    name: 'io_uring',
    script: perl(`my $p="\\0"x120;print "GOTIT" if syscall(${IO_URING},2,$p)>=0`),
    isUnprovable: true,
  },
  {
    name: 'network namespace of pid 1',
    script: `nsenter -t 1 -n sh -c 'ip route | grep default && echo GOTIT'`,
    isUnprovable: true,
  },
  { name: 'Unix socket outside, network allowed', script: nodeConnect('process.env.UNIX_TEMP'), network: 'allow' },
  {
    name: 'vsock, network allowed',
    script: perl(`print "GOTIT" if syscall(${SOCKET},40,1,0)>=0`),
    network: 'allow',
    isUnprovable: true,
  },
]

const OTHERS: readonly Probe[] = [
  { name: 'signal to a neighbour', script: 'kill -9 "$NEIGHBOUR"; sleep 0.1', isUnprovable: true },
  { name: 'signal to everybody', script: 'kill -9 -1', isUnprovable: true },
  { name: 'trace of pid 1', script: 'head -c 1 /proc/1/mem && echo GOTIT', isUnprovable: true },
  {
    name: 'capabilities',
    script: 'grep -E "^Cap(Eff|Prm|Bnd|Amb).*[1-9a-f]" /proc/self/status && echo GOTIT',
    isUnprovable: true,
  },
  { name: 'new privileges', script: 'grep -q "NoNewPrivs:.*0" /proc/self/status && echo GOTIT', isUnprovable: true },
  { name: 'host name', script: 'hostname evil; [ "$(hostname)" = "$HOST_NAME" ] && echo GOTIT', isUnprovable: true },
  {
    name: 'descriptors of the daemon',
    script: 'ls /proc/self/fd | grep -vE "^[0-3]$" && echo GOTIT',
    isUnprovable: true,
  },
  {
    name: 'kernel keyring',
    script: perl(`print "GOTIT" if syscall(${process.arch === 'arm64' ? 219 : 250},0,-3,0)>=0`),
    isUnprovable: true,
  },
]

let place: BenchPlace
let neighbour: ChildProcess
let hits: string[] = []
let env: Record<string, string> = {}
const servers: (Server | UdpSocket)[] = []
const shared = `/dev/shm/bench-${process.pid}`

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

beforeAll(async () => {
  place = openBenchPlace()
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
  const tcp = await listen('tcp', { port: 0, host: '::' })
  const udp = createSocket('udp4').on('message', () => hits.push('udp'))
  servers.push(udp)
  await new Promise<void>(done => udp.bind(0, '127.0.0.1', done))
  env = {
    ...sockets,
    OUT: place.outside,
    SECRET_HOME: place.home,
    HOST_TEMP: hostTemp,
    TCP: String(tcp),
    UDP: String(udp.address().port),
    ABSTRACT: abstract,
    HOST_NAME: readFileSync('/proc/sys/kernel/hostname', 'utf8').trim(),
  }
})
afterAll(async () => {
  for (const server of servers) server.close()
  neighbour?.kill('SIGKILL')
  rmSync(shared, { force: true })
  await place.close()
})
beforeEach(() => {
  if (neighbour?.exitCode === null && neighbour.signalCode === null) return
  neighbour = spawn('sleep', ['600'], { env: { NEIGHBOUR_SECRET: place.canary }, argv0: `sleep` })
  env = { ...env, NEIGHBOUR: String(neighbour.pid) }
})

/** Everything the host can see of the world outside and of the control files. */
function hostView() {
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

function restore() {
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

async function escapes({ script, network }: Probe, scope: 'workspace' | 'unrestricted'): Promise<readonly string[]> {
  restore()
  hits = []
  const before = hostView()
  const { output } = await place.run(script, { scope, network: network ?? 'deny' }, { env })
  await new Promise(done => setImmediate(done))
  await new Promise(done => setImmediate(done))
  const after = hostView()
  const changed = JSON.stringify(before) !== JSON.stringify(after)
  const isNeighbourDead = !existsSync(`/proc/${neighbour.pid}`) || neighbour.signalCode !== null
  return [
    ...(output.includes(place.canary) ? ['read a secret'] : []),
    ...(output.includes('GOTIT') ? ['got it'] : []),
    ...(changed ? ['changed the host'] : []),
    ...(isNeighbourDead ? ['killed a neighbour'] : []),
    ...hits.map(hit => `reached ${hit}`),
  ]
}

const all = [...WRITES, ...READS, ...CONTROL_FILES, ...NETWORK, ...OTHERS]

describe('no way out of the workspace', () => {
  test.each(all)('$name', async probe => {
    expect(await escapes(probe, 'workspace')).toEqual([])
  })
})

describe('the probe does get out where nothing holds it', () => {
  test.each(all.filter(probe => !probe.isUnprovable))('$name', async probe => {
    expect(await escapes(probe, 'unrestricted')).not.toEqual([])
  })
})
