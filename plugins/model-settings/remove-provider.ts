import { Failure } from '#contracts/errors'
import type { ModelSettings } from './model-settings.js'

/** Takes away a provider that was added, with its key and all that was set for it. */
export async function removeProvider(desk: ModelSettings, name: string): Promise<void> {
  const { catalog, store } = desk.parts
  if (catalog.has(name))
    throw new Failure(
      'invalid_request',
      `name: ${name.slice(0, 100)} is built in and cannot be removed; change it instead`,
    )
  const before = await store.remove(name, stored => {
    if (stored?.reach === undefined)
      throw new Failure('invalid_request', `name: no provider "${name.slice(0, 100)}" was added`)
  })
  await store.dropList(name)
  await desk.settle(name, { before })
}
