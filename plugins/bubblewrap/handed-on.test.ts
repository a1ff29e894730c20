import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BenchPlace, openBenchPlace } from './bench-place.js'
import { perl } from './escape-bench.js'
import { isUnused } from './pipe-check.js'

/**
 * A command hands its descriptors to one that goes on when it has ended. The pipes behind them are used again for
 * commands of anybody.
 */

const [SEND, RECEIVE] = process.arch === 'arm64' ? [211, 212] : [46, 47]

/** Takes descriptors at the socket `meet`, says `taken`, then reads from all and writes to all until `enough` is there. */
const RECEIVER = perl(`
  use Socket; use Fcntl; use Errno; $|=1; unlink "meet"; $SIG{PIPE}="IGNORE";
  socket(my $s,AF_UNIX,SOCK_STREAM,0); bind($s,pack_sockaddr_un("meet")); listen($s,1); accept(my $c,$s);
  my ($b,$x)=("\\0"x8,"\\0"x64); my $io=pack("PQ",$b,8); my $m=pack("QLx4PQPQix4",0,0,$io,1,$x,64,0);
  syscall(${RECEIVE},fileno $c,$m,0); my ($length)=unpack("Q",$x); my @f=unpack("x16 i".int(($length-16)/4),$x);
  print "taken ",scalar(@f),"\\n"; open(T,">","taken"); close T;
  my @h=map { open(my $h,"+<&=",$_) or open($h,"<&=",$_) or open($h,">&=",$_); fcntl($h,F_SETFL,O_NONBLOCK); $h } @f;
  for (1..2000) { last if -e "enough"; for my $h (@h) { syswrite($h,"INJECTED"); my $g=""; sysread($h,$g,999) and print "STOLEN $g" } select(undef,undef,undef,0.005) }`)

/** Sends what the Perl expression opens to whoever listens at `meet`. */
const sender = (descriptors: string) =>
  perl(`
  use Socket; use Fcntl; socket(my $s,AF_UNIX,SOCK_STREAM,0);
  for (1..500) { last if connect($s,pack_sockaddr_un("meet")); select(undef,undef,undef,0.01) }
  my @f=(${descriptors}); my $n=@f; my $x="x"; my $io=pack("PQ",$x,1);
  my $c=pack("Qiii$n",16+4*$n,1,1,@f); $c.="\\0"x(-length($c)%8); my $m=pack("QLx4PQPQix4",0,0,$io,1,$c,length $c,0);
  syscall(${SEND},fileno $s,$m,0); select(undef,undef,undef,0.01) until -e "taken"`)

const OPENED = 'do{sysopen(my $r,"/proc/self/fd/1",O_RDONLY|O_NONBLOCK);push @main::keep,$r;fileno $r}'

let place: BenchPlace
beforeAll(() => {
  place = openBenchPlace()
})
afterAll(() => place.close())

describe.each([
  ['its output', '1'],
  ['its output, opened for reading', OPENED],
  ['its input', '0'],
])('a command that hands on %s', (_, descriptors) => {
  test('ends by itself, and nobody who comes later is heard or disturbed', async () => {
    for (const name of ['taken', 'enough', 'meet']) rmSync(join(place.root, name), { force: true })
    const shared = { network: 'allow', tenantId: 'one' } as const
    const receiver = place.run(RECEIVER, shared, { timeoutMs: 30_000 })
    const giver = await place.run(sender(descriptors), shared, { timeoutMs: 20_000, stdin: 'something' })
    expect(giver.kind).toBe('exited')
    const victims = []
    for (const stdin of ['one', 'two', 'three'])
      victims.push(
        await place.run('sleep 0.05; cat', { network: 'deny', tenantId: 'two' }, { stdin: `secret ${stdin}` }),
      )
    await place.run('touch enough')
    expect(victims.map(({ output }) => output)).toEqual(['secret one', 'secret two', 'secret three'])
    const { output } = await receiver
    expect(output).toContain('taken 1')
    expect(output).not.toContain('secret')
  })
})

test('a pipe is unused only when nobody reads from it, writes to it, or shut it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pipe-'))
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  const holding = (mode: number) => {
    const fd = openSync(pipe, mode | constants.O_NONBLOCK)
    const answer = isUnused(pipe)
    closeSync(fd)
    return answer
  }
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(pipe, constants.O_WRONLY)
  closeSync(reader)
  const written = isUnused(pipe)
  closeSync(writer)
  expect([isUnused(pipe), holding(constants.O_RDONLY), written]).toEqual([true, false, false])
  rmSync(dir, { recursive: true })
  expect(isUnused(pipe)).toBe(false)
})
