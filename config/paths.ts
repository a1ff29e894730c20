import { join, resolve } from 'node:path'
import { SETTING_ROWS, type SettingKey } from './schema.js'
import type { Places } from './setting.js'

/** What relative paths and `~` start from. */
export interface Base {
  readonly cwd: string
  readonly home: string
}

/** `~/x` and `x` as absolute paths. Empty stays empty, and so does a name that is no file (`:memory:`). */
export function absolute(path: string, { cwd, home }: Base): string {
  if (path === '' || path.startsWith(':')) return path
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1))
  return resolve(cwd, path)
}

/** The operator's own directory, unless a setting moves it. */
export const operatorDirectory = (home: string): string => join(home, '.runwright')

/** The daemon's directory in a workspace, unless a setting moves it. */
export const workspaceDirectory = (workspace: string): string => join(workspace, '.runwright')

/** Makes every path of the values absolute and fills in the places known only now. */
export function settlePaths(values: Map<SettingKey, unknown>, base: Base): void {
  const at = (key: SettingKey) => absolute(String(values.get(key)), base)
  const places: Places = {
    workspace: at('workspace'),
    state: at('state_dir') || workspaceDirectory(at('workspace')),
    global: at('global_dir') || operatorDirectory(base.home),
  }
  for (const [key, row] of SETTING_ROWS) {
    if (!row.isPath) continue
    const value = values.get(key)
    if (Array.isArray(value)) values.set(key, Object.freeze(value.map(path => absolute(String(path), base))))
    else values.set(key, at(key) || row.place?.of(places) || '')
  }
}
