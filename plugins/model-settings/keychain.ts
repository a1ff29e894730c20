import { execFile } from 'node:child_process'
import { keyText } from './key-text.js'

/** The program that reads the keychain, and where it is to be had. */
export interface Keychain {
  readonly platform: NodeJS.Platform
  readonly program: string
}

export const SYSTEM_KEYCHAIN: Keychain = { platform: process.platform, program: '/usr/bin/security' }

const ITEM = /^(runwright[A-Za-z0-9._-]{0,100})\/([A-Za-z0-9@._-]{1,100})$/
const TIMEOUT_MS = 5_000

/** The service and account of an item that may be named: only those made for this daemon. */
export function parseItem(text: string): { readonly service: string; readonly account: string } | undefined {
  const [, service, account] = ITEM.exec(text) ?? []
  return service === undefined || account === undefined ? undefined : { service, account }
}

/** Undefined: no such item, or the keychain is locked. */
export function readKeychain(item: string, { program }: Keychain): Promise<string | undefined> {
  const found = parseItem(item)
  if (found === undefined) return Promise.resolve(undefined)
  const args = ['find-generic-password', '-s', found.service, '-a', found.account, '-w']
  // It gets nothing of the daemon's environment.
  const options = { env: {}, timeout: TIMEOUT_MS, maxBuffer: 16 * 1024 }
  return new Promise(resolve => {
    execFile(program, args, options, (error, stdout) => resolve(error ? undefined : keyText(stdout)))
  })
}
