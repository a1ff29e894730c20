import { arch, hostname, platform, userInfo } from 'node:os'

/** Facts of the machine that stay the same while the daemon runs; what is not known is left out. */
export type MachineFacts = readonly (readonly [key: string, value: string])[]

export function machineFacts(): MachineFacts {
  const { username = '', shell = '' } = whoIsThis()
  const facts = [
    ['os', platform()],
    ['arch', arch()],
    ['hostname', hostname()],
    ['user', username],
    ['shell', shell],
    ['node_version', process.version],
  ] as const
  return facts.filter(([, value]) => value !== '')
}

/** A user without an entry in the system's list has no name. */
function whoIsThis(): { readonly username?: string; readonly shell?: string } {
  try {
    const { username, shell } = userInfo()
    return { username, ...(shell && { shell }) }
  } catch {
    return {}
  }
}
