import { Failure, messageOf } from '#contracts/errors'
import { readOwnFile } from './own-file.js'
import type { PrivateCopies } from './private-copy.js'
import type { LiveSessions } from './token-source.js'
import type { Vendor } from './vendors.js'

/**
 * Takes over the session of a vendor's program: read, copied, in force. Fails with `subscription_import_failed` and says
 * what is wrong, never what the file holds.
 */
export async function importSession(vendor: Vendor, sessions: LiveSessions, copies: PrivateCopies): Promise<void> {
  const { shownFile, program } = vendor
  const refused = (why: string): Failure => new Failure('subscription_import_failed', `${shownFile} ${why}`)
  const file = await readOwnFile(vendor.file, { isPrivate: false })
  if (file.kind === 'absent') throw refused(`is not there: log in with ${program} as the daemon’s user first`)
  if (file.kind === 'wrong') throw refused(file.why)
  const found = vendor.read(file.text)
  if (found.kind === 'wrong') throw refused(`cannot be used: ${found.why}`)
  const before = sessions.get(vendor.provider)
  do {
    // A refresh of the session before would put its tokens over the copy.
    await before?.refreshing
    await copies.write(vendor.copy, found.session).catch(error => {
      throw new Failure('subscription_import_failed', `the session could not be kept: ${reasonOf(error)}`)
    })
  } while (before?.refreshing !== undefined)
  sessions.set(vendor.provider, { session: found.session })
}

/** The code says enough; the message would tell our paths. */
const reasonOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? messageOf(error)
