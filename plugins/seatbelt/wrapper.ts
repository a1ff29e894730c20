import type { FsReadRestrictionConfig, FsWriteRestrictionConfig } from '@anthropic-ai/sandbox-runtime'

/** What a profile is made of besides the package's own rules. */
export interface ProfileWish {
  readonly isNetworkDenied: boolean
  readonly readConfig: FsReadRestrictionConfig
  readonly writeConfig: FsWriteRestrictionConfig
}

const SANDBOX_EXEC = '/usr/bin/sandbox-exec'
const NETWORK_RULE = '(allow network*)'

/**
 * The profile the package would start a command with, as `sandbox-exec -p` takes it. Throws when the package does not
 * answer in the form this was written for. The package is loaded by the first call: 45 ms, and only where it is used.
 */
export async function packageProfile({ isNetworkDenied, readConfig, writeConfig }: ProfileWish): Promise<string> {
  // The package's own entry manages one policy for the whole process; this is the part beneath, which takes one per call.
  const { wrapCommandWithSandboxMacOS } = await import(
    '@anthropic-ai/sandbox-runtime/dist/sandbox/macos-sandbox-utils.js'
  )
  const wrapped = wrapCommandWithSandboxMacOS({
    command: ':',
    commandId: 'runwright',
    needsNetworkRestriction: isNetworkDenied,
    readConfig,
    writeConfig,
    allowGitConfig: true,
    binShell: '/bin/bash',
  })
  const words = shellWords(wrapped)
  const at = words.indexOf(SANDBOX_EXEC)
  const [, option, profile = '', ...command] = words.slice(at)
  const isKnown = at >= 0 && option === '-p' && command.length === 3 && profile.startsWith('(version 1)\n(deny default')
  if (!isKnown || profile.split(NETWORK_RULE).length !== (isNetworkDenied ? 1 : 2))
    throw new Error('the profile of @anthropic-ai/sandbox-runtime has another form than the one that was checked')
  return profile
}

/** Takes apart what the package quotes: bare words, and single quotes with `'"'"'` for a quote in them. */
export function shellWords(text: string): readonly string[] {
  const words: string[] = []
  for (const [word] of text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g))
    words.push(word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''))
  return words
}
