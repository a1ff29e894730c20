import { isDeepStrictEqual } from 'node:util'
import type { ReloadReport } from '#contracts/settings'
import { daemonSettings } from './daemon-settings.js'
import type { LoadedConfig } from './load.js'
import { SETTING_ROWS, type SettingKey, type Settings } from './schema.js'

/**
 * What a reload from `old` to `next` changes, keys in table order and after them `plugins.<name>`. A key that needs a
 * restart stays in the list, reload after reload, until the file says again what is in force.
 */
export function diffSettings(old: LoadedConfig, next: LoadedConfig): ReloadReport {
  const changed = SETTING_ROWS.filter(
    ([key]) => !isDerived(key, old, next) && !isDeepStrictEqual(old.settings[key], next.settings[key]),
  )
  const names = [...new Set([...old.plugins.keys(), ...next.plugins.keys()])].sort()
  return {
    applied: [
      ...changed.filter(([, row]) => row.reload === 'hot').map(([key]) => key),
      ...names.filter(name => !isSamePlugin(name, old, next)).map(name => `plugins.${name}`),
    ],
    restart_required: changed.filter(([, row]) => row.reload === 'restart').map(([key]) => key),
  }
}

/** The configuration in force after that reload: `next`, with everything that needs a restart as it was. */
export function afterReload(old: LoadedConfig, next: LoadedConfig): LoadedConfig {
  const kept = new Set<SettingKey>(
    SETTING_ROWS.filter(([key, row]) => row.reload === 'restart' || isDerived(key, old, next)).map(([key]) => key),
  )
  const entries = SETTING_ROWS.map(([key]) => [key, (kept.has(key) ? old : next).settings[key]] as const)
  const settings = Object.freeze(Object.fromEntries(entries)) as unknown as Settings
  return Object.freeze({
    ...next,
    settings,
    // Every path that is hidden needs a restart to move.
    daemon: Object.freeze({ ...daemonSettings(settings, ''), hiddenPaths: old.daemon.hiddenPaths }),
    sourceOf: (key: SettingKey) => (kept.has(key) ? old : next).sourceOf(key),
  })
}

const isSamePlugin = (name: string, old: LoadedConfig, next: LoadedConfig): boolean => {
  const [before, after] = [old.plugins.get(name), next.plugins.get(name)]
  return before?.enabled === after?.enabled && isDeepStrictEqual(before?.section ?? {}, after?.section ?? {})
}

/** A path nobody chose follows a directory that stays where it is until the restart. */
const isDerived = (key: SettingKey, old: LoadedConfig, next: LoadedConfig): boolean =>
  old.sourceOf(key).layer === 'default' && next.sourceOf(key).layer === 'default'
