import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PluginFiles } from './plugin-files.js'
import { transpile } from './transpile.js'

const SEAL = '.sealed'
const KEEP_MS = 60 * 60 * 1000

/**
 * Staged copies of plugin folders. One path is one text for ever, so whatever a generation imports, now or late, is the
 * text it was opened with. A copy appears whole or not at all.
 */
export class Shelf {
  /** Copies whose content this process has checked against their seal. */
  readonly #checked = new Set<string>()
  #keeping: NodeJS.Timeout | undefined

  constructor(readonly root: string) {}

  /**
   * The folder that holds these files as JavaScript. `attempt` above 0 asks for a fresh copy of the same text: Node
   * remembers for ever that an import failed, also when the package it missed has been installed since.
   */
  async place(plugin: string, sourceDir: string, files: PluginFiles, attempt: number): Promise<string> {
    const dir = join(this.root, `${plugin}@${files.hash}${attempt === 0 ? '' : `.${attempt}`}`)
    // Touched before it is used: from then on nobody else drops it.
    if (!((await this.#isWhole(dir)) && (await touch(dir))))
      await this.#write(dir, await compiled(files.contents, sourceDir, dir), files.packages)
    this.#checked.add(dir)
    return dir
  }

  /** The plugin whose staged code a stack names first. */
  pluginIn(stack: string): string | undefined {
    const url = pathToFileURL(`${this.root}/`).href
    const line = stack.split('\n').find(text => text.includes(url))
    return line === undefined ? undefined : /^[a-z0-9-]+(?=@)/.exec(line.slice(line.indexOf(url) + url.length))?.[0]
  }

  /**
   * Drops copies nobody has asked for within the last hour, except those `isUsed` says yes to. Never fails. From then until
   * `release` no other process drops what this one has placed: generations import and start workers late.
   */
  async prune(isUsed: (dir: string) => boolean): Promise<void> {
    this.#keeping ??= setInterval(() => this.#checked.forEach(dir => void touch(dir)), KEEP_MS / 4).unref()
    const oldest = Date.now() - KEEP_MS
    for (const name of await readdir(this.root).catch(() => [])) {
      const [dir, dropped] = [join(this.root, name), join(this.root, `.dropped-${randomBytes(6).toString('hex')}`)]
      if (!(await isOlder(dir, oldest)) || isUsed(dir)) continue
      // Renamed first, so that nobody finds half a copy, and back if somebody has asked for it in the meantime.
      const isMoved = await rename(dir, dropped).then(yes, no)
      if (isMoved && !(await isOlder(dropped, oldest))) await rename(dropped, dir).catch(no)
      await rm(dropped, { recursive: true, force: true }).catch(no)
    }
  }

  release(): void {
    clearInterval(this.#keeping)
  }

  /** A copy may be torn by a power cut after its rename: its seal tells. */
  async #isWhole(dir: string): Promise<boolean> {
    const seal = await readFile(join(dir, SEAL), 'utf8').catch(() => undefined)
    if (seal === undefined) return false
    return this.#checked.has(dir) || seal.split('\n').every(line => isThere(dir, line))
  }

  async #write(dir: string, contents: ReadonlyMap<string, Buffer>, packages: string | undefined): Promise<void> {
    const draft = join(this.root, `.draft-${process.pid}-${randomBytes(6).toString('hex')}`)
    try {
      await mkdir(draft, { recursive: true })
      for (const folder of new Set([...contents.keys()].map(path => dirname(join(draft, path)))))
        await mkdir(folder, { recursive: true })
      await Promise.all([...contents].map(([path, text]) => writeFile(join(draft, path), text)))
      if (packages !== undefined) await symlink(packages, join(draft, 'node_modules'), 'junction')
      await writeFile(join(draft, SEAL), [...contents].map(([path, text]) => `${text.length} ${path}`).join('\n'))
      await this.#install(draft, dir)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }

  /** A whole copy that is already there stays: somebody may be importing from it. A torn one makes room. */
  async #install(draft: string, dir: string): Promise<void> {
    try {
      await rename(draft, dir)
    } catch (error) {
      if (await this.#isWhole(dir)) return
      const torn = `${draft}-torn`
      await rename(dir, torn).catch(() => undefined)
      await rename(draft, dir).catch(async () => {
        if (!(await this.#isWhole(dir))) throw error
      })
      await rm(torn, { recursive: true, force: true })
    }
  }
}

const yes = (): boolean => true
const no = (): boolean => false
const isOlder = (dir: string, than: number) => stat(dir).then(({ mtimeMs }) => mtimeMs <= than, no)

/** False: it is not there any more. One that may not be touched is still there. */
const touch = (dir: string, now = new Date()): Promise<boolean> =>
  utimes(dir, now, now).then(yes, (error: NodeJS.ErrnoException) => error.code !== 'ENOENT')

/** Sizes tell a torn copy: a file system writes what a file holds before it says how long the file is. */
function isThere(dir: string, line: string): boolean {
  const at = line.indexOf(' ')
  const found = statSync(join(dir, line.slice(at + 1)), { throwIfNoEntry: false })
  return found?.isFile() === true && found.size === Number(line.slice(0, at))
}

async function compiled(contents: ReadonlyMap<string, Buffer>, sourceDir: string, targetDir: string) {
  const typescript = new Map([...contents].filter(([path]) => path.endsWith('.ts')))
  if (typescript.size === 0) return contents
  const staged = new Map([...contents].filter(([path]) => !path.endsWith('.ts')))
  for (const [path, text] of await transpile(typescript, sourceDir, targetDir)) {
    if (staged.has(path)) throw new Error(`holds both ${path} and ${path.replace(/js$/, 'ts')}; keep one of them`)
    staged.set(path, text)
  }
  return new Map([...staged].sort(([a], [b]) => (a < b ? -1 : 1)))
}
