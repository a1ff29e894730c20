import { isIPv4 } from 'node:net'
import { Failure } from '#contracts/errors'

export interface BindAddress {
  /** As given to `listen`; empty for every interface. */
  readonly host: string
  readonly port: number
  readonly isLoopback: boolean
}

/** Reads `host:port` as the `addr` setting has it. Fails with a sentence that says what the form is. */
export function parseBindAddress(addr: string): BindAddress {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(addr.trim()) ?? []
  const port = Number(digits)
  if (digits === '' || port > 65535)
    throw new Failure(
      'invalid_request',
      `the listen address "${addr}" is not of the form host:port, as in 127.0.0.1:8080`,
    )
  const host = bracketed ?? plain ?? ''
  // The name is never looked up: a hosts file must not widen what we listen on.
  if (host.toLowerCase() === 'localhost') return { host: '127.0.0.1', port, isLoopback: true }
  return { host, port, isLoopback: isLoopbackLiteral(host) }
}

/** Only the plain spellings count; a name, a mapped or a short form may mean another interface than it looks. */
export const isLoopbackLiteral = (host: string): boolean => host === '::1' || (isIPv4(host) && host.startsWith('127.'))

/** The refusal of a bind that others could reach while nobody needs a key. */
export const refusePublicBind = (addr: string): Failure =>
  new Failure(
    'forbidden',
    `will not listen on "${addr}": it is not a loopback address and no API keys are configured. ` +
      'Set SVC_RUN_DB and create a key with `runwright keys create`, or set SVC_AUTH_DISABLED=true to serve without keys, ' +
      'or listen on 127.0.0.1',
  )
