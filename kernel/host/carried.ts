import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'

type DisposeValue = (value: unknown) => void | Promise<void>

interface Slot {
  readonly value: unknown
  dispose: DisposeValue | undefined
}

/**
 * What one plugin carries across its reloads. Living generations hold it; when the last one lets go, the plugin is
 * unloaded and the values are disposed, newest first.
 */
export class CarriedSlots {
  readonly #slots = new Map<string, Slot>()
  #holders = 0

  constructor(
    readonly plugin: string,
    readonly log: PluginLog,
    readonly onEmpty: () => void,
  ) {}

  hold(): void {
    this.#holders += 1
  }

  take(key: string, create: () => unknown, dispose: DisposeValue | undefined): unknown {
    const slot = this.#slots.get(key) ?? { value: create(), dispose }
    this.#slots.set(key, slot)
    return slot.value
  }

  /** The dispose of the generation that is current now; an older one would keep its whole generation in memory. */
  adopt(disposers: ReadonlyMap<string, DisposeValue | undefined>): void {
    for (const [key, dispose] of disposers) {
      const slot = this.#slots.get(key)
      if (slot !== undefined) slot.dispose = dispose
    }
  }

  async release(): Promise<void> {
    this.#holders -= 1
    if (this.#holders > 0) return
    this.onEmpty()
    for (const [key, { value, dispose }] of [...this.#slots].reverse())
      try {
        await dispose?.(value)
      } catch (error) {
        this.log.error({ plugin: this.plugin, key, error: messageOf(error) }, 'a carried value did not close cleanly')
      }
    this.#slots.clear()
  }
}
