import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KeyFiles } from './key-file.js'
import { checkKeyRef, type KeyPlaces, onShelf, readKeyRef, shownRef } from './key-ref.js'
import { createFolderShelf, createMemoryShelf } from './key-shelf.js'
import type { Keychain } from './keychain.js'

const SECRET = 'sk-very-secret'
const VARIABLES: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: SECRET,
  ACME_API_KEY: 'acme-key',
  ACME_TOKEN: 'acme-token',
  ACME_SECRET: SECRET,
  SVC_SOURCEGRAPH_TOKEN: SECRET,
  AWS_SECRET_ACCESS_KEY: SECRET,
  GITHUB_TOKEN: SECRET,
  OPENAI_PROXY: 'https://proxy.test/v1',
  PATH: '/bin',
}
const CATALOG = [
  { base_url: 'https://api.openai.test/v1', base_url_env: 'OPENAI_BASE_URL', api_key_env: 'OPENAI_API_KEY' },
]

let base = ''
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'runwright-keys-'))
  await mkdir(join(base, 'secrets/deep'), { recursive: true })
  await mkdir(join(base, 'more'))
  await mkdir(join(base, 'secrets-not'))
  for (const [file, text] of Object.entries({
    'secrets/acme': 'acme-file-key\n',
    'secrets/deep/one': 'deep-key',
    'secrets/empty': '\n',
    'secrets/two-lines': 'a\nb',
    'secrets/big': 'x'.repeat(20_000),
    'more/other': 'other-key',
    'secrets-not/x': SECRET,
    outside: SECRET,
  }))
    await writeFile(join(base, file), text)
  await symlink(join(base, 'outside'), join(base, 'secrets/link-out'))
  await symlink(join(base, 'secrets/acme'), join(base, 'secrets/link-in'))
  await symlink(base, join(base, 'secrets/folder-out'))
  execFileSync('mkfifo', [join(base, 'secrets/pipe')])
})
afterEach(() => rm(base, { recursive: true, force: true }))

const places = (more: Partial<KeyPlaces> = {}, variables = VARIABLES): KeyPlaces => ({
  secrets: { get: name => variables[name] },
  files: new KeyFiles([join(base, 'secrets'), join(base, 'more')]),
  shelf: createMemoryShelf(new Map()),
  keychain: { platform: 'linux', program: '/nonexistent' },
  variables: [],
  ...more,
})
const complaint = (
  ref: string,
  more: Partial<KeyPlaces> = {},
  baseUrl = 'https://acme.test/v1',
  variables = VARIABLES,
) =>
  checkKeyRef(ref, baseUrl, CATALOG, places(more, variables)).then(
    () => 'taken',
    (error: Error) => error.message,
  )

describe('variables', () => {
  test.each([
    ['ACME_API_KEY', 'acme-key'],
    ['ACME_TOKEN', 'acme-token'],
  ])('%s may be named', async (name, key) => {
    expect(await complaint(`env:${name}`)).toBe('taken')
    expect(await readKeyRef(`env:${name}`, places())).toBe(key)
  })

  test.each([
    ['SVC_SOURCEGRAPH_TOKEN', 'ends in _KEY or _TOKEN and is no other service'],
    ['AWS_SECRET_ACCESS_KEY', 'no other service'],
    ['GITHUB_TOKEN', 'no other service'],
    ['ACME_SECRET', '_KEY or _TOKEN'],
    ['PATH', '_KEY or _TOKEN'],
    ['acme_api_key', '_KEY or _TOKEN'],
    ['', '_KEY or _TOKEN'],
    ['ACME_API_KEY\n', '_KEY or _TOKEN'],
    ['constructor', '_KEY or _TOKEN'],
    ['UNSET_KEY', 'UNSET_KEY is not set'],
  ])('%j may not', async (name, why) => {
    const message = await complaint(`env:${name}`)
    expect(message).toMatch(/^key_ref: /)
    expect(message).toContain(why)
    expect(message).not.toContain(SECRET)
  })

  test('a vendor’s variable goes to the vendor and nowhere else', async () => {
    expect(await complaint('env:OPENAI_API_KEY', {}, 'https://api.openai.test/v1')).toBe('taken')
    expect(await complaint('env:OPENAI_API_KEY', {}, 'https://api.openai.test/other')).toBe('taken')
    for (const elsewhere of ['https://evil.test/v1', 'http://api.openai.test/v1', 'https://api.openai.test:8443/v1'])
      expect(await complaint('env:OPENAI_API_KEY', {}, elsewhere)).toMatch(/belongs to https:\/\/api\.openai\.test and/)
    const moved = { ...VARIABLES, OPENAI_BASE_URL: 'https://proxy.test/v1' }
    expect(await complaint('env:OPENAI_API_KEY', {}, 'https://proxy.test/v1', moved)).toBe('taken')
    expect(await complaint('env:OPENAI_API_KEY', {}, 'https://api.openai.test/v1', moved)).toContain('belongs to')
  })

  test('an operator’s list takes the place of the rule, but never opens the daemon’s own', async () => {
    const variables = ['ACME_SECRET', 'SVC_SOURCEGRAPH_TOKEN']
    expect(await complaint('env:ACME_SECRET', { variables })).toBe('taken')
    expect(await complaint('env:ACME_API_KEY', { variables })).toContain('may name ACME_SECRET')
    expect(await complaint('env:SVC_SOURCEGRAPH_TOKEN', { variables })).toContain('may name')
    expect(await complaint('env:OPENAI_API_KEY', { variables }, 'https://evil.test')).toContain('belongs to')
  })
})

describe('files', () => {
  test.each([
    ['acme', 'acme-file-key'],
    ['./deep/../acme', 'acme-file-key'],
    ['deep/one', 'deep-key'],
    ['link-in', 'acme-file-key'],
  ])('%s lies in the directory of keys', async (path, key) => {
    expect(await complaint(`file:${path}`)).toBe('taken')
    expect(await readKeyRef(`file:${path}`, places())).toBe(key)
    expect(await complaint(`file:${join(base, 'secrets', path)}`)).toBe('taken')
  })

  test('a directory of the operator’s is one too', async () => {
    expect(await complaint(`file:${join(base, 'more/other')}`)).toBe('taken')
    expect(await readKeyRef(`file:${join(base, 'more/other')}`, places())).toBe('other-key')
  })

  test.each([
    ['/etc/passwd', 'does not lie'],
    ['../outside', 'does not lie'],
    ['deep/../../outside', 'does not lie'],
    ['link-out', 'does not lie'],
    ['folder-out/outside', 'does not lie'],
    ['../secrets-not/x', 'does not lie'],
    ['', 'does not lie'],
    ['.', 'does not lie'],
    ['a\0b', 'does not lie'],
    ['nothing', 'is not there'],
    ['acme/x', 'is not there'],
    ['deep', 'no regular file'],
    ['pipe', 'no regular file'],
    ['empty', 'does not hold a key'],
    ['two-lines', 'does not hold a key'],
    ['big', 'larger than 16384'],
  ])('%j is refused: %s', async (path, why) => {
    const message = await complaint(`file:${path}`)
    expect(message).toMatch(/^key_ref: the file /)
    expect(message).toContain(why)
    expect(message).not.toMatch(new RegExp(`${SECRET}|${base}`))
    expect(await readKeyRef(`file:${path}`, places())).toBeUndefined()
  })

  test('a key that is exchanged is read anew', async () => {
    await writeFile(join(base, 'secrets/acme'), 'next-key')
    expect(await readKeyRef('file:acme', places())).toBe('next-key')
  })
})

describe('the keychain', () => {
  const program = () => join(base, 'security')
  const mac = (): { keychain: Keychain } => ({ keychain: { platform: 'darwin', program: program() } })
  beforeEach(async () => {
    await writeFile(
      program(),
      `#!/bin/sh
/usr/bin/env > ${base}/environment
echo "$@" > ${base}/arguments
test "$5" = me || exit 44
echo keychain-key
`,
    )
    await chmod(program(), 0o755)
  })

  test('is asked for an item made for this daemon, with nothing of its environment', async () => {
    process.env.RUNWRIGHT_TEST_KEY = SECRET
    try {
      expect(await complaint('keychain:runwright-acme/me', mac())).toBe('taken')
    } finally {
      delete process.env.RUNWRIGHT_TEST_KEY
    }
    expect(await readKeyRef('keychain:runwright-acme/me', places(mac()))).toBe('keychain-key')
    expect(await readFile(join(base, 'arguments'), 'utf8')).toBe('find-generic-password -s runwright-acme -a me -w\n')
    expect(await readFile(join(base, 'environment'), 'utf8')).not.toContain(SECRET)
  })

  test.each([
    ['keychain:login/me', 'begins with runwright'],
    ['keychain:runwright-acme', 'begins with runwright'],
    ['keychain:runwright-acme/me -g', 'begins with runwright'],
    ['keychain:runwright-acme/you', 'no such item'],
  ])('%s is refused', async (ref, why) => {
    expect(await complaint(ref, mac())).toContain(why)
  })

  test('elsewhere there is none', async () => {
    expect(await complaint('keychain:runwright-acme/me')).toContain('on macOS only')
  })
})

test.each(['', 'ACME_API_KEY', 'https://x.test/key', 'stored:0123', 'exec:cat /etc/passwd', 'ENV:ACME_API_KEY'])(
  '%j is no reference',
  async ref => {
    expect(await complaint(ref)).toContain('must be env:<NAME>, file:<path> or keychain:<service>/<account>')
  },
)

test('what is shown of a reference tells no path and no id', () => {
  expect(
    ['env:ACME_KEY', 'file:/run/secrets/acme', 'file:acme', onShelf('ff'), 'keychain:runwright/a'].map(shownRef),
  ).toEqual(['env:ACME_KEY', 'file:acme', 'file:acme', 'stored', 'keychain:runwright/a'])
})

describe('the shelf', () => {
  test('keeps keys in files of this user alone', async () => {
    const directory = join(base, 'model-keys')
    const shelf = createFolderShelf(directory)
    const id = await shelf.put('k')
    expect(await createFolderShelf(directory).get(id)).toBe('k')
    const found = await Promise.all([stat(directory), stat(join(directory, id))])
    expect(found.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['700', '600'])
    await shelf.remove(id)
    expect(await shelf.get(id)).toBeUndefined()
  })

  test.each(['../outside', 'x', '', '0'.repeat(31)])('knows no id %j', async id => {
    const shelf = createFolderShelf(join(base, 'secrets'))
    expect(await shelf.get(id)).toBeUndefined()
    await shelf.remove(id)
    expect(await readFile(join(base, 'outside'), 'utf8')).toBe(SECRET)
  })

  test('does not write through a link', async () => {
    await symlink(join(base, 'more'), join(base, 'model-keys'))
    await expect(createFolderShelf(join(base, 'model-keys')).put('k')).rejects.toThrow('is a link')
  })
})
