import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Packages that a start needs. Loaded as published they are some 550 files, which is most of what a start costs. */
const PACKAGES = [
  '@sinclair/typebox',
  '@sinclair/typebox/value',
  '@sinclair/typebox/compiler',
  '@sinclair/typebox/errors',
  'fastify',
  'reflect-metadata',
  'tsyringe',
  'tapable',
  'commander',
  'smol-toml',
  'chokidar',
]
/** Where the compiled code that may import them lies. Tests keep the packages as they are published. */
const FOLDERS = ['contracts', 'config', 'kernel', 'plugins']
const REQUIRE = `import { createRequire as createPackageRequire } from 'node:module'; const require = createPackageRequire(import.meta.url);`

/** `@scope/name/part` is part of `@scope/name`. */
const packageOf = name => (name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : name.split('/')[0])
const fileOf = name => `${name.replace('@', '').replaceAll('/', '-')}.js`

/**
 * Puts each of these packages into one file of `dist/vendor`, with what they share in common files, and has the compiled
 * code import it from there. Whoever imports a package by its own name still gets the published one.
 */
export async function vendor(root) {
  const outdir = join(root, 'dist/vendor')
  rmSync(outdir, { recursive: true, force: true })
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const packages = PACKAGES.filter(name => Object.hasOwn(dependencies, packageOf(name)))
  if (packages.length === 0) return
  const { build } = await import('esbuild')
  const entries = new Map()
  for (const name of packages) entries.set(`entry:${name}`, await entryOf(name))
  await build({
    entryPoints: packages.map(name => ({ in: `entry:${name}`, out: fileOf(name).slice(0, -'.js'.length) })),
    outdir,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: REQUIRE },
    logLevel: 'error',
    plugins: [
      {
        name: 'entries',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^entry:/ }, ({ path }) => ({ path, namespace: 'entry' }))
          onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => ({
            contents: entries.get(path),
            resolveDir: root,
          }))
        },
      },
    ],
  })
  const files = new Map(packages.map(name => [name, `#vendor/${fileOf(name)}`]))
  for (const folder of FOLDERS) if (existsSync(join(root, 'dist', folder))) rewrite(join(root, 'dist', folder), files)
}

/** Names every export: those of a CommonJS package cannot be seen from outside. One that only patches has none. */
async function entryOf(name) {
  const exported = Object.keys(await import(name)).filter(each => each !== 'module.exports')
  return exported.length === 0 ? `import '${name}'\n` : `export { ${exported.join(', ')} } from '${name}'\n`
}

/** Imports stand at the head of a file; further down the same words are text, as in the files of a new plugin. */
const HEAD = /^(?:#!.*\n|\s+|\/\/.*\n|\/\*[\s\S]*?\*\/|import\s[^'"`;]*'[^']+';?)*/
const STATIC = /(\bfrom |\bimport )'([^'.#][^']*)'/g
const LAZY = /(\bawait import\()'([^'.#][^']*)'/g

function rewrite(folder, files) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) rewrite(path, files)
    else if (entry.name.endsWith('.js') && !entry.name.endsWith('.test.js')) {
      const text = readFileSync(path, 'utf8')
      const swap = (whole, before, name) => (files.has(name) ? `${before}'${files.get(name)}'` : whole)
      const [head = ''] = HEAD.exec(text) ?? []
      const changed = head.replace(STATIC, swap) + text.slice(head.length).replace(LAZY, swap)
      if (changed !== text) writeFileSync(path, changed)
    }
  }
}
