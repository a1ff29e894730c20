import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const LAYERS = {
  contracts: ['contracts'],
  kernel: ['contracts', 'kernel'],
  plugins: ['contracts', 'plugins'],
  config: ['contracts', 'config'],
} as const
/** The only kernel files that see the configuration: they assemble the daemon. */
const ENTRY = ['kernel/main.ts', 'kernel/index.ts']
const SPECIFIER = /(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g
const MAX_LINES = 400
/** Twice what the design aims at; see decision 0013. It must not grow unseen. */
const MAX_KERNEL_LINES = 8000

interface Source {
  readonly file: string
  readonly text: string
}

function sources(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => !file.split(sep).includes('node_modules'))
    .map(file => ({ file: relative(root, file), text: readFileSync(file, 'utf8') }))
}

const isTest = ({ file }: Source) => file.endsWith('.test.ts')

function* imports({ file, text }: Source) {
  for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
    if (specifier.startsWith('#')) yield { specifier, target: specifier.slice(1) }
    else if (specifier.startsWith('.'))
      yield { specifier, target: relative(root, resolve(root, dirname(file), specifier)) }
    else yield { specifier, target: undefined }
  }
}

describe.each(Object.entries(LAYERS))('%s', (layer, allowed) => {
  const files = sources(layer)

  test('imports only the layers below it', () => {
    const broken = files
      .filter(source => !isTest(source) && !ENTRY.includes(source.file))
      .flatMap(source =>
        [...imports(source)]
          .filter(({ target }) => {
            if (target === undefined) return false
            const [to = ''] = target.split('/')
            return !(allowed as readonly string[]).includes(to)
          })
          .map(({ specifier }) => `${source.file} -> ${specifier}`),
      )
    expect(broken).toEqual([])
  })

  test(`no file is longer than ${MAX_LINES} lines`, () => {
    expect(files.filter(({ text }) => text.split('\n').length > MAX_LINES).map(({ file }) => file)).toEqual([])
  })

  test('no default exports', () => {
    expect(files.filter(({ text }) => /^export default /m.test(text)).map(({ file }) => file)).toEqual([])
  })
})

test('a plugin imports no other plugin, also not in its tests', () => {
  const broken = sources('plugins').flatMap(source => {
    const own = source.file.split(sep).slice(0, 2).join('/')
    return [...imports(source)]
      .filter(({ target }) => target?.startsWith('plugins/') && !target.startsWith(`${own}/`))
      .map(({ specifier }) => `${source.file} -> ${specifier}`)
  })
  expect(broken).toEqual([])
})

test('suites of a plugin put no files into its compiled folder: daemons of other suites are loading it', () => {
  const writers = sources('plugins')
    .filter(({ text }) => /mkdtemp(Sync)?\(\s*join\(import\.meta\.dirname/.test(text))
    .map(({ file }) => file)
  expect(writers).toEqual([])
})

test.each([
  ['fastify', /^kernel\/http\//],
  ['better-sqlite3', /^plugins\/sqlite\//],
])('values of %s are used in one place only', (library, home) => {
  const users = Object.keys(LAYERS)
    .flatMap(sources)
    .filter(
      ({ file, text }) => !home.test(file) && new RegExp(`^import (?!type\\b).*from '${library}'`, 'm').test(text),
    )
    .map(({ file }) => file)
  expect(users).toEqual([])
})

test('the environment is read in config and by the sandbox launcher only', () => {
  const readers = ['contracts', 'kernel', 'plugins']
    .flatMap(sources)
    .filter(source => !isTest(source) && /process\.env\b/.test(source.text))
    .map(({ file }) => file)
  expect(readers).toEqual([])
})

test(`the kernel, its command line apart, stays below ${MAX_KERNEL_LINES} lines`, () => {
  const lines = sources('kernel')
    .filter(source => !isTest(source) && !source.file.startsWith('kernel/cli/'))
    .reduce((sum, { text }) => sum + text.split('\n').length, 0)
  expect(lines).toBeLessThan(MAX_KERNEL_LINES)
})
