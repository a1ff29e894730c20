import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A file a plugin starts by its path, such as a worker: it has to stay one. */
const STARTED = /new URL\('\.\/([\w-]+\.js)', import\.meta\.url\)/g
/** So many files of earlier programs stay: a daemon that runs one imports its late parts when they are first needed. */
const KEPT_FILES = 500

/**
 * Puts each compiled plugin into one file of `dist/packed/<name>`, beside what it ships besides code: the 400 files they
 * are compiled to cost a start a fifth of its time and the daemon 14 MB. Packages and contracts stay where they are, for all
 * to share. The kernel takes a packed plugin only while it is younger than the compiled one.
 */
export async function pack(root) {
  const [from, to] = [join(root, 'dist/plugins'), join(root, 'dist/packed')]
  rmSync(to, { recursive: true, force: true })
  if (!existsSync(from)) return
  const names = readdirSync(from).filter(name => existsSync(join(from, name, 'index.js')))
  if (names.length === 0) return
  const { build } = await import('esbuild')
  await Promise.all(
    names.map(async name => {
      const folder = join(from, name)
      const content = join(folder, 'content')
      if (existsSync(content)) cpSync(content, join(to, name, 'content'), { recursive: true })
      await build({
        entryPoints: ['index.js', ...startedBy(folder)].map(file => join(folder, file)),
        outdir: join(to, name),
        bundle: true,
        splitting: true,
        packages: 'external',
        external: ['#*'],
        platform: 'node',
        format: 'esm',
        target: 'node20',
        logLevel: 'error',
      })
    }),
  )
}

/**
 * Puts the program (`dist/kernel/main.js` with kernel and config) into a few files of `dist/program`, one for each part that is
 * imported late: loaded as compiled, a start reads over a hundred. Plain `tsc` writes the entry anew, so it is never old code.
 * The files stay two folders below the root, as those they are made of: paths from `import.meta` mean the same in both.
 */
export async function packProgram(root) {
  const dist = join(root, 'dist')
  const entry = join(dist, 'kernel/main.js')
  if (![entry, join(dist, 'config/index.js')].every(file => existsSync(file))) return
  const { build } = await import('esbuild')
  const { metafile } = await build({
    entryPoints: [{ in: entry, out: 'kernel/main' }],
    chunkNames: 'program/[name]-[hash]',
    outdir: dist,
    metafile: true,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    packages: 'external',
    external: ['#contracts/*', '#vendor/*'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  })
  dropOldest(join(dist, 'program'), new Set(Object.keys(metafile.outputs).map(file => basename(file))))
}

/** Of the files in a folder that are not `current`, all but those that were written last. */
function dropOldest(folder, current) {
  if (!existsSync(folder)) return
  const written = file => statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const earlier = readdirSync(folder).filter(file => !current.has(file))
  for (const file of earlier.sort((a, b) => written(b) - written(a)).slice(KEPT_FILES))
    rmSync(join(folder, file), { force: true })
}

const startedBy = folder =>
  readdirSync(folder)
    .filter(file => file.endsWith('.js') && !file.endsWith('.test.js'))
    .flatMap(file => [...readFileSync(join(folder, file), 'utf8').matchAll(STARTED)].map(([, started]) => started))
