import type { SandboxPolicy, SandboxRefusal } from '#contracts/sandbox'

export const refuse = (reason: string): SandboxRefusal => ({ kind: 'refused', reason })

export const BWRAP_MISSING =
  'Commands cannot be confined here: the program `bwrap` was not found. Install bubblewrap (Debian, Ubuntu: ' +
  '`apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`; Alpine: `apk add bubblewrap`) or set ' +
  '`bwrap_path` in `[plugins.bubblewrap]`. Nothing was run.'

/** Says what to do about a launcher that did not get as far as the command. */
export function explainFailure(text: string, { scope, network }: SandboxPolicy): SandboxRefusal {
  const said = text === '' ? 'it ended without a word' : text.split('\n')[0]
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(text)) ?? []
  return refuse(
    `Sandbox \`${scope}\` with network \`${network}\` cannot be had here: ${said}. ${advice ?? ''} Nothing was run.`.replace(
      /\s+/g,
      ' ',
    ),
  )
}

/** The same for a network of their own that the commands cannot have. */
export function explainNetwork(said: string, { scope }: SandboxPolicy): SandboxRefusal {
  const [, advice] = NETWORK_ADVICE.find(([pattern]) => pattern.test(said)) ?? []
  return refuse(
    `Sandbox \`${scope}\` with network \`allow\` cannot be had here: commands get a network of their own, from which ` +
      `nothing that listens on this machine can be reached, and ${said}. ${advice ? `${advice} ` : ''}Or ask for network ` +
      '`deny`, or let all commands share the network of this machine: `allowed_network = "host"` in ' +
      '`[plugins.bubblewrap]`. Nothing was run.',
  )
}

const USER_NAMESPACES =
  'Allow unprivileged user namespaces: `sysctl user.max_user_namespaces=15000`, on Debian also ' +
  '`kernel.unprivileged_userns_clone=1`, on Ubuntu 24.04 and later `kernel.apparmor_restrict_unprivileged_userns=0` or ' +
  'an AppArmor profile for bwrap; inside a container start it with `--security-opt seccomp=unconfined ' +
  '--security-opt apparmor=unconfined`.'

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/execvp/, 'The program does not exist or cannot be run inside the sandbox.'],
  [/Can't chdir/, 'The working directory cannot be entered inside the sandbox.'],
  [/namespace|uid map|gid map|user\.max_user|clone/i, USER_NAMESPACES],
  [/mount proc/i, 'Inside a container, start it with `--security-opt systempaths=unconfined`: /proc is masked there.'],
  [/loopback|RTM_/i, 'The kernel refuses a network of its own; allow network namespaces to the daemon.'],
  [/seccomp|PR_SET_/i, 'The kernel needs CONFIG_SECCOMP_FILTER.'],
  [
    /mount|remount|bind|tmpfs|pivot/i,
    'The kernel refuses a mount; a security profile around the daemon may be in the way.',
  ],
  [/Unknown option/i, 'This bubblewrap is too old; 0.8.0 or later is needed.'],
]

const NETWORK_ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /was not found/,
    'Install what is missing (Debian, Ubuntu: `apt-get install slirp4netns iproute2`; Fedora: `dnf install ' +
      'slirp4netns iproute`; Alpine: `apk add slirp4netns iproute2 util-linux`).',
  ],
  [
    /tun/,
    'The daemon needs to read and write /dev/net/tun: `modprobe tun && chmod 666 /dev/net/tun`; inside a container ' +
      'start it with `--device /dev/net/tun`.',
  ],
  [/unshare|namespace|uid_map/i, USER_NAMESPACES],
  [/RTNETLINK|rule/i, 'The kernel needs policy routing (CONFIG_IP_MULTIPLE_TABLES), and iproute2 4.17 or later.'],
]
