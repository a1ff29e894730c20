import { join } from 'node:path'
import type { BuildFailure, Plugin } from 'esbuild'

/** Builds under way in this process: the compiler is one child process, stopped when nobody builds any more. */
let building = 0

/**
 * Turns TypeScript into JavaScript, file by file, nothing bundled and no types checked. Keys are paths inside
 * `sourceDir`; the result has the same paths ending in `.js`. Relative imports of `.ts` files point to the `.js` ones
 * afterwards. Source maps lead back to the source folder when the result lies in `targetDir`.
 * Fails with a message of the form `x.ts:3:7: what is wrong`.
 */
export async function transpile(
  files: ReadonlyMap<string, Buffer>,
  sourceDir: string,
  targetDir: string,
): Promise<Map<string, Buffer>> {
  const esbuild = await import('esbuild')
  building += 1
  try {
    const { outputFiles } = await esbuild.build({
      absWorkingDir: sourceDir,
      entryPoints: [...files.keys()],
      outdir: targetDir,
      outbase: sourceDir,
      bundle: true,
      treeShaking: false,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent',
      plugins: [fromMemory(files, sourceDir)],
    })
    return new Map(outputFiles.map(file => [file.path.slice(targetDir.length + 1), Buffer.from(file.contents)]))
  } catch (error) {
    throw new Error(located(error), { cause: error })
  } finally {
    building -= 1
    if (building === 0) await esbuild.stop()
  }
}

/** Every import stays an import; texts come from what was hashed, not from a disk that may have moved on. */
const fromMemory = (files: ReadonlyMap<string, Buffer>, sourceDir: string): Plugin => ({
  name: 'from-memory',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      kind === 'entry-point'
        ? { path: join(sourceDir, path) }
        : { path: /^\.{1,2}\//.test(path) ? path.replace(/\.ts$/, '.js') : path, external: true },
    )
    build.onLoad({ filter: /.*/ }, ({ path }) => {
      const text = files.get(path.slice(sourceDir.length + 1))
      return { contents: text ?? '', loader: path.endsWith('.ts') ? 'ts' : 'js' }
    })
  },
})

function located(error: unknown): string {
  const [first] = (error as Partial<BuildFailure>).errors ?? []
  if (first === undefined) return error instanceof Error ? error.message : String(error)
  const at = first.location
  return at === null ? first.text : `${at.file}:${at.line}:${at.column + 1}: ${first.text}`
}
