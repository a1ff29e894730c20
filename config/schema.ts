import type { Static } from '@sinclair/typebox'
import { AUTOMATION_SETTINGS } from './schema/automation.js'
import { CONTENT_SETTINGS } from './schema/content.js'
import { FORENSICS_SETTINGS } from './schema/forensics.js'
import { MEMORY_SETTINGS } from './schema/memory.js'
import { RUN_SETTINGS } from './schema/run.js'
import { SERVER_SETTINGS } from './schema/server.js'
import { STORAGE_SETTINGS } from './schema/storage.js'
import type { Setting } from './setting.js'

/**
 * Every setting of the daemon by its dotted key, as it stands in a config file. The order is the order of every list
 * that is shown, also of a reload's answer.
 */
export const SETTINGS = Object.freeze({
  ...RUN_SETTINGS,
  ...SERVER_SETTINGS,
  ...STORAGE_SETTINGS,
  ...MEMORY_SETTINGS,
  ...FORENSICS_SETTINGS,
  ...CONTENT_SETTINGS,
  ...AUTOMATION_SETTINGS,
})

export type SettingKey = keyof typeof SETTINGS

/** The value of every setting. Paths are absolute, or empty where nothing is configured. */
export type Settings = { readonly [K in SettingKey]: Static<(typeof SETTINGS)[K]['type']> }

/** Rows in table order, with their type forgotten. */
export const SETTING_ROWS: readonly (readonly [SettingKey, Setting])[] = Object.freeze(
  Object.entries(SETTINGS) as unknown as [SettingKey, Setting][],
)

/** The row of a key from outside, if there is one. */
export const settingOf = (key: string): Setting | undefined =>
  Object.hasOwn(SETTINGS, key) ? (SETTINGS[key as SettingKey] as unknown as Setting) : undefined
