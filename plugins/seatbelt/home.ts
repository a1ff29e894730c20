import { join } from 'node:path'

/** What a home directory commonly holds that must not reach a command, should the workspace be the home itself. */
export const HOME_SECRETS: readonly string[] = [
  ...['.ssh', '.aws', '.azure', '.config', '.docker', '.gnupg', '.kube', '.netrc', '.npmrc', '.pypirc'],
  ...['.git-credentials', '.cargo/credentials', '.cargo/credentials.toml', '.m2/settings.xml', '.pgpass', '.my.cnf'],
  ...['.gradle/gradle.properties', '.password-store', '.terraform.d', '.vault-token', '.claude', '.cache/runwright'],
  ...['.bash_history', '.zsh_history', '.zsh_sessions', '.node_repl_history', '.python_history'],
  ...['Library/Keychains', 'Library/Cookies', 'Library/Mail', 'Library/Messages', 'Library/Application Support'],
]

/** Of the machine; most can be read by root alone. */
export const SYSTEM_SECRETS: readonly string[] = [
  '/private/etc/master.passwd',
  '/private/etc/ssh',
  '/private/var/db/dslocal',
  '/Library/Keychains',
]

/** Directories below `home` that the programs on `path` need to run: a PATH entry itself, or a toolchain as a whole. */
export function toolchainDirs(home: string, path: readonly string[]): readonly string[] {
  const found = new Set<string>()
  for (const entry of path) {
    if (!entry.startsWith(`${home}/`)) continue
    const below = entry.slice(home.length + 1)
    const whole = TOOLCHAINS.find(top => below === top || below.startsWith(`${top}/`))
    found.add(join(home, whole ?? below))
    if (below === '.cargo/bin') found.add(join(home, '.rustup'))
  }
  return [...found]
}

const TOOLCHAINS: readonly string[] = [
  ...[
    '.pyenv',
    '.nvm',
    '.volta',
    '.fnm',
    '.asdf',
    '.bun',
    '.deno',
    '.sdkman',
    '.rbenv',
    '.goenv',
    '.nodenv',
    '.dotnet',
  ],
  ...['.local/share/mise', '.local/share/fnm', '.ghcup', '.juliaup', 'miniconda3', 'anaconda3', 'miniforge3'],
]
