import type { NetworkAccess } from '#contracts/run/policy'

/**
 * The system call filter of a command as the bytes bwrap's `--seccomp` takes, or undefined for a processor it does not
 * know. Namespaces leave ways out that this closes: path-named Unix sockets (network denied), vsock and other families no
 * namespace covers, io_uring, which opens sockets unseen by filters, files with set-id bits, which would lie on the
 * host as programs of the daemon's user, and the two ways out of the control group that holds the limit on processes: a
 * child made in another group, and a namespace in which the group's own files can be mounted writable.
 */
export function compileSocketFilter(network: NetworkAccess, processor: string): Uint8Array | undefined {
  const numbers = CALLS[processor]
  if (!numbers) return undefined
  const families = network === 'deny' ? [INET, INET6, NETLINK] : [UNIX, INET, INET6, NETLINK]
  const program: readonly (readonly Instruction[])[] = [
    [load(ARCH), jump(EQUAL, numbers.arch, 1, 0), answer(KILL), load(NUMBER)],
    // The x32 calls are the same calls under other numbers.
    processor === 'x64' ? [jump(AT_LEAST, 0x40000000, 0, 1), refuse(EPERM)] : [],
    IO_URING.flatMap(number => [jump(EQUAL, number, 0, 1), refuse(ENOSYS)]),
    numbers.keyring.flatMap(number => [jump(EQUAL, number, 0, 1), refuse(EPERM)]),
    // Their arguments lie in memory, where a filter cannot look; whoever uses them knows older kernels without them.
    [OPENAT2, CLONE3].flatMap(number => [jump(EQUAL, number, 0, 1), refuse(ENOSYS)]),
    numbers.spaces.flatMap(number => [
      ...[
        jump(EQUAL, number, 0, 4),
        load(FIRST),
        jump(ANY_BIT, CONTROL_GROUP_SPACE, 0, 1),
        refuse(EPERM),
        load(NUMBER),
      ],
    ]),
    numbers.modes.flatMap(([number, mode]) => [
      ...[jump(EQUAL, number, 0, 4), load(mode), jump(ANY_BIT, SET_ID, 0, 1), refuse(EPERM), load(NUMBER)],
    ]),
    // Without one of these flags nothing is made and the mode is whatever lay around.
    numbers.opens.flatMap(([number, flags, mode]) => [
      ...[jump(EQUAL, number, 0, 6), load(flags), jump(ANY_BIT, CREATING, 0, 3)],
      ...[load(mode), jump(ANY_BIT, SET_ID, 0, 1), refuse(EPERM), load(NUMBER)],
    ]),
    // A datagram pair can still be sent to any path, so under `deny` pairs are of streams only.
    network === 'deny'
      ? [
          jump(EQUAL, numbers.socketpair, 0, 4),
          load(SECOND),
          { code: 0x54, value: 0xf },
          jump(EQUAL, DATAGRAM, 0, 1),
          refuse(EPERM),
          load(NUMBER),
        ]
      : [],
    [jump(EQUAL, numbers.socket, 1, 0), answer(ALLOW), load(FIRST)],
    families.flatMap(family => [jump(EQUAL, family, 0, 1), answer(ALLOW)]),
    [refuse(EPERM)],
  ]
  return encode(program.flat())
}

interface Instruction {
  readonly code: number
  readonly value: number
  readonly yes?: number
  readonly no?: number
}

interface Calls {
  readonly arch: number
  readonly socket: number
  readonly socketpair: number
  readonly keyring: readonly number[]
  /** Calls that make namespaces by the flags in their first argument: clone, unshare. */
  readonly spaces: readonly number[]
  /** Calls that set permission bits, and the argument that holds them: chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat. */
  readonly modes: readonly (readonly [number: number, mode: number])[]
  /** open, openat. */
  readonly opens: readonly (readonly [number: number, flags: number, mode: number])[]
}

/** Offsets in `struct seccomp_data`; arguments are read by their low half, which is all the kernel looks at too. */
const [NUMBER, ARCH, FIRST, SECOND, THIRD, FOURTH] = [0, 4, 16, 24, 32, 40]

const CALLS: Readonly<Record<string, Calls | undefined>> = {
  x64: {
    arch: 0xc000003e,
    socket: 41,
    socketpair: 53,
    keyring: [248, 249, 250],
    spaces: [56, 272],
    modes: [
      ...([90, 91, 85, 133] as const).map(number => [number, SECOND] as const),
      ...([268, 452, 259] as const).map(number => [number, THIRD] as const),
    ],
    opens: [
      [2, SECOND, THIRD],
      [257, THIRD, FOURTH],
    ],
  },
  arm64: {
    arch: 0xc00000b7,
    socket: 198,
    socketpair: 199,
    keyring: [217, 218, 219],
    spaces: [220, 97],
    modes: [[52, SECOND], ...([53, 452, 33] as const).map(number => [number, THIRD] as const)],
    opens: [[56, THIRD, FOURTH]],
  },
}
const [OPENAT2, CLONE3] = [437, 435]
/** CLONE_NEWCGROUP. */
const CONTROL_GROUP_SPACE = 0x02000000
const SET_ID = 0o6000
/** O_CREAT and O_TMPFILE. */
const CREATING = 0x400040
const IO_URING = [425, 426, 427]
const [UNIX, INET, INET6, NETLINK] = [1, 2, 10, 16]
const DATAGRAM = 2
const [EQUAL, AT_LEAST, ANY_BIT] = [0x15, 0x35, 0x45]
const [ALLOW, KILL, ERRNO] = [0x7fff0000, 0x80000000, 0x00050000]
const [EPERM, ENOSYS] = [1, 38]

const load = (offset: number): Instruction => ({ code: 0x20, value: offset })
const jump = (code: number, value: number, yes: number, no: number): Instruction => ({ code, value, yes, no })
const answer = (value: number): Instruction => ({ code: 0x06, value })
const refuse = (errno: number): Instruction => answer(ERRNO | errno)

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, yes = 0, no = 0, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(yes, index * 8 + 2)
    bytes.writeUInt8(no, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return bytes
}
