import { join } from 'node:path'

/** What a home directory commonly holds that must not reach a command, should the workspace be the home itself. */
export const HOME_SECRETS: readonly string[] = [
  '.ssh',
  '.aws',
  '.azure',
  '.config',
  '.docker',
  '.gnupg',
  '.kube',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.gradle/gradle.properties',
  '.local/share/keyrings',
  '.password-store',
  '.mozilla',
  '.terraform.d',
  '.vault-token',
  '.pgpass',
  '.my.cnf',
  '.bash_history',
  '.zsh_history',
  '.node_repl_history',
  '.python_history',
  '.claude',
  '.cache/runwright',
]

/** Readable by root alone, so in the way only when the daemon runs as root. */
export const SYSTEM_SECRETS: readonly string[] = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/ssl/private',
  '/etc/ssh/ssh_host_rsa_key',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
]

/**
 * Directories below `home` that the programs on `path` need to run: an entry of the PATH itself, or the whole toolchain
 * where its programs look for their libraries beside them.
 */
export function toolchainDirs(home: string, path: readonly string[]): readonly string[] {
  const found = new Set<string>()
  for (const entry of path) {
    if (!entry.startsWith(`${home}/`)) continue
    const below = entry.slice(home.length + 1)
    const [, dirs] = TOOLCHAINS.find(([top]) => below === top || below.startsWith(`${top}/`)) ?? ['', [below]]
    for (const dir of dirs) found.add(join(home, dir))
  }
  return [...found]
}

const whole = (top: string): readonly [string, readonly string[]] => [top, [top]]
const TOOLCHAINS: readonly (readonly [string, readonly string[]])[] = [
  ['.cargo/bin', ['.cargo/bin', '.rustup']],
  ['.local/bin', ['.local/bin', '.local/lib', '.local/share/pipx', '.local/share/uv']],
  ['.local/share/mise', ['.local/share/mise']],
  ['.local/share/fnm', ['.local/share/fnm']],
  ...['.pyenv', '.nvm', '.volta', '.fnm', '.asdf', '.bun', '.deno', '.sdkman', '.rbenv', '.goenv', '.dotnet'].map(
    whole,
  ),
  ...['.nodenv', '.ghcup', '.juliaup', 'miniconda3', 'anaconda3', 'miniforge3'].map(whole),
]
