/**
 * A child process for the test of a full disk: limits the size of its own files with `prlimit`, which makes real writes
 * fail, then lifts the limit. Prints what it saw as JSON.
 */
import { execFileSync } from 'node:child_process'
import { createDatabases } from '../databases.js'
import { createSqliteKeyStore } from '../key-store.js'

const [, , path = ''] = process.argv
const limitFiles = (bytes: string) =>
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`])
const databases = createDatabases()
const keys = createSqliteKeyStore(await databases.open(path))
const aKey = (prefix: string) => ({
  prefix,
  digest: 'd'.repeat(4_000),
  tenant_id: 't',
  name: 'n',
  scopes: [],
  created_at: '2026-01-01T00:00:00.000Z',
})

const stored: string[] = []
const refusals = new Set<string>()
limitFiles('700000')
for (let index = 0; index < 300; index += 1) {
  await keys.add(aKey(`k${index}`)).then(
    () => stored.push(`k${index}`),
    error => refusals.add(error.code),
  )
}
const wasReadable = (await keys.find('k0'))?.prefix === 'k0'
const isStoredAsTold = (await keys.list()).length === stored.length && stored.length > 0
limitFiles('unlimited')
await keys.add(aKey('after'))
const worksAgain = (await keys.list()).length === stored.length + 1
await databases.close()
process.stdout.write(JSON.stringify({ refusals: [...refusals], isStoredAsTold, wasReadable, worksAgain }))
