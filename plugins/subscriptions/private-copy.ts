import { randomBytes } from 'node:crypto'
import { chmod, constants, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import { readOwnFile } from './own-file.js'
import { objectOf, Session } from './session.js'

/** The daemon's own copies of sessions: files of mode 0600 in a directory of mode 0700. */
export class PrivateCopies {
  constructor(
    private readonly directory: string,
    private readonly log: PluginLog,
  ) {}

  /** Undefined when there is none that can be used; a damaged one is logged and counts as none. */
  async read(name: string): Promise<Session | undefined> {
    const file = await readOwnFile(join(this.directory, name), { isPrivate: true })
    if (file.kind === 'absent') return undefined
    const value = file.kind === 'read' ? objectOf(file.text) : undefined
    if (Value.Check(Session, value)) return value
    const why = file.kind === 'wrong' ? file.why : 'does not hold a session'
    this.log.warn({ file: join(this.directory, name), why }, 'the copy of a session is left alone; import it again')
    return undefined
  }

  /** Replaces the copy as a whole; durable when this resolves. */
  async write(name: string, session: Session): Promise<void> {
    await this.#prepare()
    const path = join(this.directory, name)
    const fresh = `${path}.${randomBytes(6).toString('hex')}.tmp`
    try {
      const handle = await open(fresh, 'wx', 0o600)
      try {
        await handle.writeFile(JSON.stringify(session))
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(fresh, path)
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
    await this.#sync()
  }

  async #prepare(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 })
    const found = await lstat(this.directory)
    if (!found.isDirectory()) throw new Error('subscription-auth is a link and no directory')
    if ((found.mode & 0o077) !== 0) await chmod(this.directory, 0o700)
  }

  async #sync(): Promise<void> {
    const handle = await open(this.directory, constants.O_RDONLY | constants.O_DIRECTORY)
    try {
      await handle.sync()
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'the file system does not sync directories')
    } finally {
      await handle.close()
    }
  }
}
