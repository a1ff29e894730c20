import { existsSync } from 'node:fs'
import { Failure } from '#contracts/errors'
import type { OpenKeys } from '#contracts/plugin'
import { bundledPlugins } from '../../index.js'
import { manifestOf } from '../manifest-of.js'

/** Opens the keys of a run database. The first plugin that can open keys does. */
export async function openKeys(path: string, { mustExist }: { readonly mustExist: boolean }): Promise<OpenKeys> {
  if (mustExist && !existsSync(path))
    throw new Failure('not_found', `there is no run database ${path}; check SVC_RUN_DB or --db`)
  for (const plugin of await bundledPlugins()) {
    const { openKeys: open } = await manifestOf(plugin)
    if (open) return open(path)
  }
  throw new Failure('not_configured', 'no installed plugin keeps API keys; put plugins/sqlite back')
}
