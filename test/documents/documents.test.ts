import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SETTINGS } from '#config/index'
import type { PluginManifest } from '#contracts/plugin'
import { testEnvironment } from '#kernel/cli/testing/test-environment'
import { bundledPlugins } from '#kernel/index'
import { type Booted, boot } from '#test/kit/boot'
import { codeIn, readPages, runwrightCommands, withoutVariables } from './fragments.js'

const ROOT = resolve(import.meta.dirname, '../../..')
const PAGES = readPages(ROOT)

/** Wrong places as `page: what`. */
const wrongIn = (find: (text: string, file: string) => readonly string[]): readonly string[] =>
  PAGES.flatMap(({ file, text }) => find(text, file).map(what => `${file}: ${what}`))

test('the checks of this file see what is wrong', async () => {
  const commands = codeIn(
    '```sh\nnpx runwright runs lst | cat\nrunwright run "x" --modle y # no\nrunwright runs ls\n```',
  ).flatMap(runwrightCommands)
  expect(await Promise.all(commands.map(problemOf))).toEqual([
    'no such command lst',
    'no such option --modle',
    undefined,
  ])
  expect(PAGES.flatMap(({ text }) => codeIn(text).flatMap(runwrightCommands)).length).toBeGreaterThan(50)
})

test('every link leads to a file that is there', () => {
  const broken = wrongIn((text, file) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter(target => !/^https?:|^#/.test(target))
      .filter(target => !existsSync(join(ROOT, dirname(file), target.replace(/#.*/, '')))),
  )
  expect(broken).toEqual([])
})

test('every path into the package that is named in code is there', () => {
  const PATH = /(?<![\w/.~*-])(?:config|contracts|examples|kernel|plugins|test)\/[\w./-]*\w/g
  // Made by whoever follows the page.
  const MADE = /^plugins\/(word-count|acme)\b|^test\/kit\/\*/
  const missing = wrongIn((text, file) =>
    (file.includes('/decisions/') ? [] : codeIn(text))
      .flatMap(code => code.match(PATH) ?? [])
      .filter(path => !MADE.test(path))
      .filter(path => ![path, `${path}.ts`, join('dist', `${path}.js`)].some(name => existsSync(join(ROOT, name)))),
  )
  expect(missing).toEqual([])
})

test('every npm script that is named is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly scripts: object }
  const unknown = wrongIn(text =>
    codeIn(text)
      .flatMap(code => [...withoutVariables(code).matchAll(/\bnpm (?:run ([\w:]+)|(start|test)\b)/g)])
      .map(([, name, short]) => name ?? short ?? '')
      .filter(name => !Object.hasOwn(scripts, name)),
  )
  expect(unknown).toEqual([])
})

test('every command of the command line that is named is there, with its options', async () => {
  const unknown: string[] = []
  for (const { file, text } of PAGES)
    for (const words of codeIn(text).flatMap(runwrightCommands)) {
      const problem = await problemOf(words)
      if (problem !== undefined) unknown.push(`${file}: ${words.join(' ')}: ${problem}`)
    }
  expect(unknown).toEqual([])
})

const helpOf = async (words: readonly string[]) => testEnvironment({ columns: 1000 }).run('help', ...words)

/** What is wrong with a command line: no such command, or an option its help does not list. */
async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const [name = '', sub = ''] = words
  if (name.startsWith('-')) return undefined
  const nested = /^[a-z]+$/.test(sub) ? await helpOf([name, sub]) : undefined
  const { code, out } = nested?.code === 0 ? nested : await helpOf([name])
  if (code !== 0) return 'no such command'
  const takesCommand = /^Usage: .*\[command\]$/m.test(out)
  if (takesCommand && /^[a-z]+$/.test(sub) && nested?.code !== 0) return `no such command ${sub}`
  const unknown = words.filter(word => /^--?[a-z]/.test(word)).filter(word => !out.includes(` ${word.split('=')[0]}`))
  return unknown.length > 0 ? `no such option ${unknown}` : undefined
}

describe('what pages say of plugins', () => {
  let daemon: Booted
  let manifests: readonly PluginManifest[]
  let adds: ReadonlyMap<string, { readonly tools: readonly string[]; readonly routes: readonly string[] }>
  beforeAll(async () => {
    daemon = await boot()
    const { body } = await daemon.request('GET', '/v1/plugins')
    const rows = body.plugins as readonly { name: string; adds: { tools: string[]; routes: string[] } }[]
    adds = new Map(rows.map(({ name, adds: what }) => [name, what]))
    manifests = await Promise.all(
      (await bundledPlugins()).map(async ({ dir }) => (await import(join(dir, 'index.js'))).plugin as PluginManifest),
    )
  }, 60_000)
  afterAll(() => daemon?.stop())

  const pageOf = (plugin: string): string =>
    PAGES.find(({ file }) => file === `plugins/${plugin}/README.md`)?.text ?? ''

  test('each plugin’s page names every setting it has', () => {
    const silent = manifests.flatMap(({ name, config }) =>
      Object.entries((config.properties ?? {}) as Record<string, { env?: string; setting?: string }>)
        .filter(
          ([key, { env, setting }]) =>
            ![key, env, ...namesOf(setting)].some(word => word && pageOf(name).includes(word)),
        )
        .map(([key, { setting }]) => `plugins/${name}/README.md: ${[key, ...namesOf(setting)].join(' or ')}`),
    )
    expect(silent).toEqual([])
  })

  test('the template of a deployment lists every plugin that ships', () => {
    const template = readFileSync(join(ROOT, 'config/default.toml'), 'utf8')
    const listed = template.slice(template.indexOf('# What ships today'))
    expect(manifests.map(({ name }) => name).filter(name => !listed.includes(`\n#   ${name} `))).toEqual([])
  })

  test('each plugin’s page names every tool and route it adds', () => {
    const silent = [...adds].flatMap(([name, { tools, routes }]) =>
      [...tools, ...routes.map(route => route.split(' ')[1] ?? '')]
        .filter(word => !plain(pageOf(name)).includes(plain(word)))
        .map(word => `plugins/${name}/README.md: ${word}`),
    )
    expect(silent).toEqual([])
  })

  test('every route that a page names is served', async () => {
    const { body } = await daemon.request('GET', '/openapi.json')
    const served = new Set(
      Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
        Object.keys(methods).map(method => `${method.toUpperCase()} ${plain(path)}`),
      ),
    )
    const unknown = wrongIn((text, file) =>
      file.includes('/decisions/')
        ? []
        : [...text.matchAll(/\b(GET|POST|PUT|DELETE|PATCH) (\/v1\/[\w/{}:.-]*[\w}])/g)]
            .filter(([, method, path = '']) => !served.has(`${method} ${plain(path)}`))
            .map(([whole]) => whole),
    )
    expect(unknown).toEqual([])
  })

  test('every variable of the daemon that a page names is read', () => {
    const schemas = JSON.stringify(manifests.map(({ config }) => config))
    const known = new Set([
      'SVC_URL',
      'SVC_TOKEN',
      ...Object.values(SETTINGS).map(({ env }) => env),
      ...[...schemas.matchAll(/"env":"(\w+)"/g)].map(([, name]) => name),
    ])
    expect(wrongIn(text => (text.match(/\bSVC_[A-Z_]*[A-Z]\b/g) ?? []).filter(name => !known.has(name)))).toEqual([])
  })
})

/** A setting goes by its key or its variable. */
const namesOf = (key: string | undefined): readonly string[] =>
  key === undefined ? [] : [key, (SETTINGS as Record<string, { readonly env?: string }>)[key]?.env ?? key]

/** `:id` and `{id}` are the same place in a path, whatever it is called. */
const plain = (path: string): string => path.replace(/:\w+|\{\w+\}/g, '*')
