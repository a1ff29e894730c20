import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'

/** An encrypted text as a record holds it; all parts base64. */
export interface Sealed {
  readonly iv: string
  readonly tag: string
  readonly text: string
}

const derive = promisify<string, Buffer, number, Buffer>(scrypt)
const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const SALT_BYTES = 16

/** Encrypts with a secret of the operator. Making one takes some 50 ms of another thread. */
export class Seal {
  private constructor(private readonly key: Buffer) {}

  static async from(secret: string, salt: Buffer): Promise<Seal> {
    return new Seal(await derive(secret.normalize('NFC'), salt, KEY_BYTES))
  }

  /** `about` is not hidden, and opening needs the very same. */
  close(text: string, about: string): Sealed {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.key, iv).setAAD(Buffer.from(about))
    const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return { iv: b64(iv), tag: b64(cipher.getAuthTag()), text: b64(hidden) }
  }

  /** Undefined: another secret, another `about`, or damaged. */
  open({ iv, tag, text }: Sealed, about: string): string | undefined {
    try {
      const decipher = createDecipheriv(ALGORITHM, this.key, bytes(iv), { authTagLength: 16 })
      decipher.setAAD(Buffer.from(about)).setAuthTag(bytes(tag))
      return Buffer.concat([decipher.update(bytes(text)), decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }
}

export const newSalt = (): Buffer => randomBytes(SALT_BYTES)

/** Names a secret in memory, so that a changed one is noticed. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const b64 = (part: Buffer): string => part.toString('base64')
const bytes = (part: string): Buffer => Buffer.from(part, 'base64')
