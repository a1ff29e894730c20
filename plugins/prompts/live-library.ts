import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import { loadLibrary, type PromptLibrary } from './library.js'

const LOOK_AGAIN_MS = 5_000

/**
 * A prompts directory that somebody may be editing. What it held last stays in force when it cannot be loaded any more.
 */
export class LiveLibrary {
  #seen: string
  #lookedAt: number
  #looking: Promise<void> | undefined

  private constructor(
    private readonly dir: string,
    private library: PromptLibrary,
    seen: string,
    private readonly options: LiveLibraryOptions,
  ) {
    this.#seen = seen
    this.#lookedAt = options.now()
  }

  /** Fails when the directory does not hold a library now. */
  static async open(dir: string, options: LiveLibraryOptions): Promise<LiveLibrary> {
    const seen = options.isWatching ? await fingerprint(dir) : ''
    return new LiveLibrary(dir, await loadLibrary(dir), seen, options)
  }

  /** The library as it is, at most five seconds old. */
  async current(): Promise<PromptLibrary> {
    if (!this.options.isWatching || this.options.now() - this.#lookedAt < LOOK_AGAIN_MS) return this.library
    this.#looking ??= this.#look().finally(() => {
      this.#lookedAt = this.options.now()
      this.#looking = undefined
    })
    await this.#looking
    return this.library
  }

  async #look(): Promise<void> {
    try {
      const seen = await fingerprint(this.dir)
      if (seen === this.#seen) return
      this.#seen = seen
      this.library = await loadLibrary(this.dir)
      this.options.log.info({ dir: this.dir }, 'prompts read again')
    } catch (error) {
      this.options.log.warn({ dir: this.dir, error: messageOf(error) }, 'changed prompts are not used')
    }
  }
}

export interface LiveLibraryOptions {
  readonly isWatching: boolean
  readonly log: PluginLog
  readonly now: () => number
}

/** Names, sizes and times of all files. */
async function fingerprint(dir: string): Promise<string> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const facts = await Promise.all(files.sort().map(file => stat(file)))
  return facts.map(({ mtimeMs, size }, index) => `${files[index]}\n${mtimeMs}\n${size}`).join('\n')
}
