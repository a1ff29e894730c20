import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { outsideAddress, outsideIpv6Address } from '#test/kit/outside-address'
import { type EscapeBench, openEscapeBench, type Probe, perl } from './escape-bench.js'

const [SOCKET, SOCKETPAIR, SENDMSG, IO_URING] = process.arch === 'arm64' ? [198, 199, 211, 425] : [41, 53, 46, 425]

const nodeConnect = (target: string) =>
  `node -e 'require("net").connect(${target}).on("connect",()=>process.exit()).on("error",()=>process.exit())'`

/** Nothing is reached when the network is denied. */
const DENIED: readonly Probe[] = [
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
]

/**
 * Perl for probes that prepare their socket: `@d` holds the network devices, `tcp` and `udp` try an address after calling
 * what they are given with the socket, and wait long enough for a hit to arrive.
 */
const PRELUDE = `
  use Socket;
  open(F, "/proc/net/dev"); my @d = map { /^ *([^: ]+):/ ? $1 : () } <F>;
  sub at { pack_sockaddr_in($_[1], inet_aton($_[0])) }
  sub index_of { my ($s, $d) = @_; my $r = pack("a16x16", $d); ioctl($s, 0x8933, $r); unpack("x16i", $r) }
  sub tcp {
    my ($ip, $prepare, $protocol) = @_;
    socket(my $s, AF_INET, SOCK_STREAM, $protocol // 0) or return;
    $prepare->($s) if $prepare;
    setsockopt($s, 1, 21, pack("qq", 0, 3e5));
    connect($s, at($ip, $ENV{TCP}));
  }
  sub udp {
    my ($ip, $prepare) = @_;
    socket(my $s, AF_INET, SOCK_DGRAM, 0) or return;
    $prepare->($s) if $prepare;
    send($s, "x", 0, at($ip, $ENV{UDP}));
    select(undef, undef, undef, 0.1);
  }
`
const net = (code: string) => perl(PRELUDE + code)
const perDevice = (code: string) => net(`for my $d (@d) { ${code} }`)
const BOUND = 'sub { setsockopt($_[0], 1, 25, $d) }'

/** Where a network of its own lies around a command; nothing has these addresses outside of one. */
const [GATEWAY, NAME_SERVER] = ['10.0.2.2', '10.0.2.3']

/** With the network allowed, nothing that listens on this machine is reached. */
const ALLOWED: readonly Probe[] = [
  { name: 'TCP by the shell', script: 'echo x >"/dev/tcp/127.0.0.1/$TCP"' },
  { name: 'TCP by a program', script: nodeConnect('process.env.TCP,"127.0.0.1"') },
  { name: 'TCP by name', script: nodeConnect('process.env.TCP,"localhost"') },
  { name: 'TCP over IPv6', script: nodeConnect('process.env.TCP,"::1"') },
  { name: 'TCP to a mapped address', script: nodeConnect('process.env.TCP,"::ffff:127.0.0.1"') },
  { name: 'TCP to another loopback address', script: 'echo x >"/dev/tcp/127.1.2.3/$TCP"' },
  { name: 'TCP to no address', script: 'echo x >"/dev/tcp/0.0.0.0/$TCP"' },
  { name: 'TCP to no IPv6 address', script: nodeConnect('process.env.TCP,"::"') },
  { name: 'TCP in many paths', script: net('tcp("127.0.0.1", undef, 262)') },
  { name: 'UDP', script: 'echo x >"/dev/udp/127.0.0.1/$UDP"; sleep 0.1' },
  { name: 'UDP over IPv6', script: 'echo x >"/dev/udp/::1/$UDP6"; sleep 0.1' },
  { name: 'UDP to no address', script: net('udp("0.0.0.0")') },
  { name: 'TCP to an outside address of the host', script: 'echo x >"/dev/tcp/$HOST_ADDRESS/$TCP"' },
  { name: 'TCP to it, mapped', script: nodeConnect('process.env.TCP,"::ffff:"+process.env.HOST_ADDRESS') },
  { name: 'UDP to an outside address of the host', script: 'echo x >"/dev/udp/$HOST_ADDRESS/$UDP"; sleep 0.1' },
  { name: 'TCP to an IPv6 address of the host', script: nodeConnect('process.env.TCP,process.env.HOST_ADDRESS6') },
  { name: 'TCP, bound to a device', script: perDevice(`tcp("127.0.0.1", ${BOUND})`) },
  { name: 'UDP, bound to a device', script: perDevice(`udp("127.0.0.1", ${BOUND})`) },
  { name: 'TCP to an outside address, bound to a device', script: perDevice(`tcp($ENV{HOST_ADDRESS}, ${BOUND})`) },
  { name: 'UDP to an outside address, bound to a device', script: perDevice(`udp($ENV{HOST_ADDRESS}, ${BOUND})`) },
  {
    name: 'UDP, sent out by a device of choice',
    script: perDevice('udp("127.0.0.1", sub { setsockopt($_[0], 0, 50, pack("N", index_of($_[0], $d))) })'),
  },
  {
    name: 'UDP, sent out by a device named in the message',
    script: perDevice(`
      socket(my $s, AF_INET, SOCK_DGRAM, 0); my ($to, $x) = (at("127.0.0.1", $ENV{UDP}), "x");
      my $io = pack("PQ", $x, 1); my $c = pack("QiiiNNx4", 28, 0, 8, index_of($s, $d), 0, 0);
      my $m = pack("PLx4PQPQix4", $to, length $to, $io, 1, $c, length $c, 0);
      syscall(${SENDMSG}, fileno($s), $m, 0); select(undef, undef, undef, 0.1)`),
  },
  { name: 'TCP without a route', script: net('tcp("127.0.0.1", sub { setsockopt($_[0], 1, 5, 1) })') },
  { name: 'UDP without a route', script: net('udp("127.0.0.1", sub { setsockopt($_[0], 1, 5, 1) })') },
  {
    name: 'data with the first packet',
    script: perDevice(
      'socket(my $s, AF_INET, SOCK_STREAM, 0); setsockopt($s, 1, 25, $d); setsockopt($s, 1, 21, pack("qq", 0, 3e5)); send($s, "GET / HTTP/1.0\r\n\r\n", 0x20000000, at("127.0.0.1", $ENV{TCP}))',
    ),
  },
  ...[GATEWAY, NAME_SERVER, '10.0.2.255', '255.255.255.255'].flatMap(address => [
    { name: `TCP to ${address}`, script: net(`tcp("${address}")`), isUnprovable: true as const },
    { name: `TCP to ${address}, bound`, script: perDevice(`tcp("${address}", ${BOUND})`), isUnprovable: true as const },
    {
      name: `UDP to ${address}`,
      script: net(`udp("${address}", sub { setsockopt($_[0], 1, 6, 1) })`),
      isUnprovable: true as const,
    },
    {
      name: `UDP to ${address}, bound`,
      script: perDevice(`udp("${address}", sub { setsockopt($_[0], 1, 6, 1); setsockopt($_[0], 1, 25, $d) })`),
      isUnprovable: true as const,
    },
  ]),
  {
    name: 'a route of the sender’s own',
    script: net(
      `for my $kind (131, 137) { tcp("${GATEWAY}", sub { setsockopt($_[0], 0, 4, pack("C*", $kind, 7, 4, 127, 0, 0, 1, 0)) }) }`,
    ),
    isUnprovable: true,
  },
  { name: 'abstract Unix socket', script: nodeConnect('"\\0"+process.env.ABSTRACT') },
  { name: 'Unix socket in a temporary directory', script: nodeConnect('process.env.UNIX_TEMP') },
  {
    name: 'the list of listeners',
    script: 'grep -qi ":$(printf %04X "$TCP") .* 0A " /proc/net/tcp /proc/net/tcp6 && echo GOTIT',
  },
  {
    name: 'network namespaces of other processes',
    script:
      'for n in /proc/[0-9]*/ns/net; do nsenter --net="$n" sh -c "ip rule del pref 2; ip route add default dev lo" && echo GOTIT; done',
    isUnprovable: true,
  },
  { name: 'rules taken away', script: 'ip rule del pref 2 && echo GOTIT', isUnprovable: true },
  {
    name: 'rules taken away by root of a namespace',
    script: 'unshare -Ur sh -c "ip rule del pref 2 && echo GOTIT; ip link set tap0 down && echo GOTIT"',
    isUnprovable: true,
  },
  { name: 'a device of its own', script: 'ip tuntap add mode tap tap9 && echo GOTIT', isUnprovable: true },
  { name: 'vsock', script: perl(`print "GOTIT" if syscall(${SOCKET},40,1,0)>=0`), isUnprovable: true },
  { name: 'packet socket', script: perl(`print "GOTIT" if syscall(${SOCKET},17,3,0)>=0`), isUnprovable: true },
  { name: 'raw socket', script: perl(`print "GOTIT" if syscall(${SOCKET},2,3,255)>=0`), isUnprovable: true },
  {
    name: 'the program that carries connections',
    script: 'cat /proc/*/cmdline | grep -aq "[s]lirp4netns" && echo GOTIT',
    isUnprovable: true,
  },
].map(probe => ({ ...probe, network: 'allow' as const }))

let bench: EscapeBench
beforeAll(async () => {
  bench = await openEscapeBench({ HOST_ADDRESS: outsideAddress(), HOST_ADDRESS6: outsideIpv6Address() ?? '::1' })
})
afterAll(() => bench.close())

describe.each(['workspace', 'local'] as const)('network denied, scope %s: nothing is reached', scope => {
  test.each(DENIED)('$name', async probe => {
    expect(await bench.escapes(probe, scope)).toEqual([])
  })
})

describe.each(['workspace', 'local'] as const)(
  'network allowed, scope %s: the machine itself is not reached',
  scope => {
    test.each(scope === 'local' ? ALLOWED.filter(({ script }) => !script.includes('UNIX')) : ALLOWED)(
      '$name',
      async probe => {
        expect(await bench.escapes(probe, scope)).toEqual([])
      },
    )
  },
)

describe('the probe does reach what it aims at where nothing holds it', () => {
  test.each([...DENIED, ...ALLOWED].filter(probe => !probe.isUnprovable))('$name', async probe => {
    expect(await bench.escapes(probe, 'unrestricted')).not.toEqual([])
  })
})
