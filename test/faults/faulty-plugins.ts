import { cp, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Failure } from '#contracts/errors'

/** Asked before every operation of the run and message stores; what it throws is what the store says. */
export type Fault = (operation: string) => void

const SLOT = Symbol.for('runwright.test.store-fault')

/** A copy of the bundled plugins whose database stores ask a fault first; install one with `setFault`. */
export async function faultyPlugins(dir: string): Promise<string> {
  const copy = join(dir, 'bundled')
  await cp(resolve(import.meta.dirname, '../../plugins'), copy, { recursive: true })
  for (const name of ['run-store.js', 'message-store.js']) {
    const file = join(copy, 'sqlite', name)
    const source = await readFile(file, 'utf8')
    const faulty = source.replaceAll(
      /\bsend\('/g,
      "(async (...all) => { globalThis[Symbol.for('runwright.test.store-fault')]?.(all[0]); return send(...all) })('",
    )
    if (faulty === source) throw new Error(`nothing to break in ${file}`)
    await writeFile(file, faulty)
  }
  return copy
}

export function setFault(fault: Fault | undefined): void {
  Object.assign(globalThis, { [SLOT]: fault })
}

export const unavailable = (): Failure => new Failure('store_unavailable', 'the database cannot be written: disk full')
