import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EscapeBench, openEscapeBench, type Probe, perl } from './escape-bench.js'

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

let bench: EscapeBench
beforeAll(async () => {
  bench = await openEscapeBench()
})
afterAll(() => bench.close())

const all = [...WRITES, ...READS, ...CONTROL_FILES, ...OTHERS]

describe('no way out of the workspace', () => {
  test.each(all)('$name', async probe => {
    expect(await bench.escapes(probe, 'workspace')).toEqual([])
  })
})

describe('the probe does get out where nothing holds it', () => {
  test.each(all.filter(probe => !probe.isUnprovable))('$name', async probe => {
    expect(await bench.escapes(probe, 'unrestricted')).not.toEqual([])
  })
})
