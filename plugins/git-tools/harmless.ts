import type { SandboxPolicy } from '#contracts/sandbox'

/**
 * Environment and options that keep git from running what a repository names: hooks, file system monitors, pagers,
 * external diffs, text converters, signature checkers, transports. The sandbox would confine them anyway; this keeps them from
 * running at all.
 */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.quotePath', 'false'],
  ['color.ui', 'false'],
  ['diff.external', ''],
  ['diff.ignoreSubmodules', 'dirty'],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.submodule', 'short'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['log.showSignature', 'false'],
  ['protocol.allow', 'never'],
  // Whoever owns the files: the sandbox decides what git may do with them.
  ['safe.directory', '*'],
  // A crafted bare repository in the place of a workspace would bring its own config.
  ['safe.bareRepository', 'explicit'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
]

const ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: '',
  GIT_SSH_COMMAND: 'false',
  GIT_ASKPASS: 'false',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  PAGER: 'cat',
  GIT_EDITOR: 'false',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
}

export const GLOBAL_OPTIONS = ['--no-pager', '--literal-pathspecs', '--no-optional-locks'] as const

/** `drivers`: filter drivers the repository configures; each is switched off by name, since git has no option for all. */
export function gitEnvironment(drivers: readonly string[]): Readonly<Record<string, string>> {
  const filters = drivers.flatMap(driver => [
    ...['clean', 'smudge', 'process'].map(kind => [`filter.${driver}.${kind}`, ''] as const),
    [`filter.${driver}.required`, 'false'] as const,
  ])
  const settings = [...SETTINGS, ...filters]
  const numbered = settings.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { ...ENVIRONMENT, ...Object.fromEntries(numbered), GIT_CONFIG_COUNT: String(settings.length) }
}

/** Git only looks: without network, nothing writable, and confined also where the run's own commands are not. */
export const lookingOnly = ({ writablePaths: _, ...policy }: SandboxPolicy): SandboxPolicy => ({
  ...policy,
  scope: 'workspace',
  network: 'deny',
  isReadOnly: true,
})
