import { statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type EscapeBench, openEscapeBench, type Probe, perl } from './escape-bench.js'

/**
 * System calls and kernel objects that go around a view of the file system, a process space or a limit, on the two
 * processors whose call numbers are known. Most are open to nobody without rights over the machine, so only those that an
 * unconfined command can do are tried without confinement too.
 */
const isArm = process.arch === 'arm64'
const number = (x64: number, arm64: number) => (isArm ? arm64 : x64)
const got = (call: string) => perl(`my $r=syscall(${call});print "GOTIT" if $r>=0`)
const probe = (name: string, script: string): Probe => ({ name, script, isUnprovable: true })

const [MOUNT, UNMOUNT, UNSHARE] = isArm ? [40, 39, 97] : [165, 166, 272]
const [CONTROL_GROUP, PROCESS] = [0x02000000, 0x20000000]

/** With every right over namespaces of its own, user and mounts and `spaces`. A program started there would lose them. */
const inOwnSpace = (name: string, spaces: number, code: string, state = '.runwright') =>
  probe(
    `${name}, in a space of its own`,
    perl(
      `sub c{my @a=@_;syscall(shift @a,@a)}c(${UNSHARE},${0x10020000 + spaces});if(my $k=fork){waitpid $k,0;exit}` +
        `${code};open(F,"<","${state}/state.db");print <F>`,
    ),
  )

const MOUNTS: readonly Probe[] = [
  probe('a file system opened by name', got('430,my $t="tmpfs",0')),
  probe('a copy of the mount tree', got('428,-100,my $p="/",0x80001')),
  probe('the root mount made writable', got('442,-100,my $p="/",0x8000,my $a=pack("QQQQ",0,1,0,0),32')),
  probe('the root moved', got(`${number(155, 41)},my $p="/tmp",my $q="/tmp"`)),
  probe('another root', got(`${number(161, 51)},my $p="/tmp"`)),
  probe('a mount moved away', 'mount --move /tmp /mnt && echo GOTIT'),
  {
    name: 'a file by its handle',
    script: perl(
      `my $h=pack("Ii",128,0)."\\0"x128;my $m=pack("i",0);my $p=$ENV{OUT}."/victim";syscall(${number(303, 264)},-100,$p,$h,$m,0);` +
        `open(D,"<","/");my $f=syscall(${number(304, 265)},fileno D,$h,0);print "GOTIT" if $f>=0`,
    ),
    isUnprovable: true,
  },
  inOwnSpace('a cover taken off', 0, `c(${UNMOUNT},".runwright",2)`),
  inOwnSpace('a look beneath a cover', 0, `c(${MOUNT},".","/mnt","",0x1000,0)`, '/mnt/.runwright'),
  inOwnSpace(
    'covers left behind',
    0,
    `c(${MOUNT},".","/mnt","",0x5000,0);c(${UNMOUNT},"/mnt/.runwright",2)`,
    '/mnt/.runwright',
  ),
  inOwnSpace('a mount made writable', 0, `print "GOTIT" if !c(${MOUNT},"","/","",0x1020,0)`),
  inOwnSpace('processes seen anew', PROCESS, `print "GOTIT" if !c(${MOUNT},"x","/mnt","proc",0,0)`),
  inOwnSpace(
    'an overlay over what is read-only',
    0,
    `mkdir "h";print "GOTIT" if !c(${MOUNT},"x","/etc","overlay",0,"lowerdir=/etc,upperdir=h,workdir=h")`,
  ),
]

const GROUPS: readonly Probe[] = [
  ...['"cgroup",0,"pids"', '"cgroup2",0,0'].map(kind =>
    inOwnSpace(
      `control files mounted anew: ${kind}`,
      CONTROL_GROUP,
      `print "GOTIT" if !c(${MOUNT},"x","/mnt",${kind})`,
    ),
  ),
  probe(
    'a child in another control group',
    `for d in $(find /sys/fs/cgroup -maxdepth 3 -type d | head -50); do G=$d ${perl(
      'opendir(D,$ENV{G});open(F,"<",$ENV{G});my $a=pack("Q11",0x200000000,0,0,0,17,0,0,0,0,0,fileno F);' +
        'my $p=syscall(435,$a,88);exit if !$p;print "GOTIT" if $p>0',
    )}; done`,
  ),
  probe(
    'itself in another control group',
    'find /sys/fs/cgroup -name cgroup.procs | while read f; do echo $$ >"$f" && echo GOTIT; done',
  ),
  probe(
    'its chance to be ended first',
    'for n in 999 0 -1000; do echo $n >/proc/self/oom_score_adj && echo GOTIT; done',
  ),
  probe('a better priority', 'renice -n -5 $$ && echo GOTIT; nice -n -5 true 2>&1 | grep -q . || echo GOTIT'),
  probe('a place before everybody', 'chrt -f 50 true && echo GOTIT; ionice -c 1 true && echo GOTIT'),
]

const PROCESSES: readonly Probe[] = [
  probe('memory of a neighbour', got(`${number(310, 270)},$ENV{NEIGHBOUR}+0,my $b="x"x64,1,my $c="x"x64,1,0`)),
  probe(
    'a descriptor of a neighbour',
    perl('my $p=syscall(434,$ENV{NEIGHBOUR}+0,0);print "GOTIT" if $p>=0&&syscall(438,$p,0,0)>=0'),
  ),
  probe('a trace of a neighbour', got(`${number(101, 117)},0x4206,$ENV{NEIGHBOUR}+0,0,0`)),
  probe('a signal by descriptor', got('434,$ENV{NEIGHBOUR}+0,0')),
  probe('roots of all processes', 'for r in /proc/[0-9]*/root /proc/[0-9]*/cwd; do cat "$r$SECRET_HOME/.npmrc"; done'),
  probe(
    'the spawner’s directory',
    'ls /proc/1/cwd/ /proc/*/fd/ | grep -E "\\.(options|argv|filter|status)$" && echo GOTIT',
  ),
  probe('the files of the spawner', 'find /dev/shm /tmp -name "*.filter" | grep -q . && echo GOTIT'),
  probe(
    'letters typed at a terminal',
    perl('for my $f (0..2){ioctl(*{(STDIN,STDOUT,STDERR)[$f]},0x5412,"x") and print "GOTIT"}'),
  ),
  probe('the terminal of the daemon', '(: </dev/tty) && echo GOTIT'),
  probe('keys put into the kernel', got(`${number(248, 217)},my $t="user",my $d="x",my $v="y",1,-3`)),
  probe('keys asked for', got(`${number(249, 218)},my $t="user",my $d="x",0,-3`)),
  probe('the clock', got(`${number(227, 112)},0,my $t=pack("qq",time,0)`)),
  probe(
    'set-id programs of the machine',
    'sudo -n true && echo GOTIT; pkexec true && echo GOTIT; unshare -Ur --map-auto true && echo GOTIT',
  ),
]

const DEVICES = '/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty'
const FILES: readonly Probe[] = [
  probe('the mode of a device', `for d in ${DEVICES}; do chmod $(stat -c %a $d) $d && echo GOTIT; done`),
  probe('the times of a device', `for d in ${DEVICES}; do touch -d 2001-01-01 $d && echo GOTIT; done`),
  probe('the mode of its input', 'chmod 666 /proc/self/fd/0 && echo GOTIT'),
  probe('the mode of its input, by descriptor', perl('chmod(0666,*STDIN) and print "GOTIT"')),
  probe(
    'more devices',
    'for d in /dev/fuse /dev/kvm /dev/net/tun /dev/loop-control /dev/vfio/vfio /dev/vhost-vsock /dev/console /dev/port; do [ -e $d ] && echo GOTIT; done',
  ),
  probe(
    'rights on a file',
    perl(
      `open(F,">","h");my $p="h";my $n="security.capability";my $v=pack("I5",0x2000001,128,0,0,0);print "GOTIT" if syscall(${number(188, 5)},$p,$n,$v,20,0)>=0`,
    ),
  ),
  probe('a file given away', ': >h; chown 1:1 h && echo GOTIT'),
  probe('a file nobody can remove', ': >h; chattr +i h && echo GOTIT'),
  {
    name: 'a program that lies nowhere',
    script: perl(
      `my $n="m";my $f=syscall(${number(319, 279)},$n,0);open(O,">&=",$f);open(I,"<","/bin/touch");binmode I;local $/;print O <I>;O->flush;` +
        'exec "/proc/self/fd/$f","$ENV{OUT}/new"',
    ).replace('perl -e', 'perl -MIO::Handle -MFcntl -e'),
  },
  ...(isArm
    ? []
    : [
        probe(
          'set-id bit by a call under another number',
          `cp /bin/true h; ${perl(`my $n="h";syscall(0x40000000+90,$n,04755)`)}; [ -u h ] && echo GOTIT`,
        ),
        {
          name: 'set-id bit by a call of 32 bits',
          script: `cp /bin/true h; ${perl(MACHINE_CODE())} >d; chmod +x d; ./d; [ -u h ] && echo GOTIT`,
          isUnprovable: true,
        },
      ]),
]

/** Perl that prints a program whose `int 0x80` asks for `chmod("h", 04755)`. */
function MACHINE_CODE(): string {
  const header = 'pack("A4C12SSIQQQISSSSSS","\\x7fELF",2,1,1,(0)x9,2,62,1,0x400078,64,0,0,64,56,1,0,0,0)'
  const segment = 'pack("IIQQQQQQ",1,5,0,0x400000,0x400000,0x100,0x100,0x1000)'
  const code = 'pack("CICICICCCICCCC",0xb8,15,0xbb,0x400097,0xb9,04755,0xcd,0x80,0xb8,1,0x31,0xdb,0xcd,0x80)'
  return `print ${header},${segment},${code},"\\0\\0\\0\\0\\0h\\0"`
}

let bench: EscapeBench
beforeAll(async () => {
  bench = await openEscapeBench()
})
afterAll(() => bench.close())

const all = [...MOUNTS, ...GROUPS, ...PROCESSES, ...FILES]

describe.each(['allow', 'deny'] as const)('no way out of the workspace by a system call, network %s', network => {
  test.each(all)('$name', async probe => {
    const before = DEVICES.split(' ').map(path => statSync(path).mode)
    expect(await bench.escapes({ ...probe, network }, 'workspace')).toEqual([])
    expect(DEVICES.split(' ').map(path => statSync(path).mode)).toEqual(before)
  })
})

describe('the probe does get out where nothing holds it', () => {
  test.each(all.filter(probe => !probe.isUnprovable))('$name', async probe => {
    expect(await bench.escapes(probe, 'unrestricted')).not.toEqual([])
  })
})
