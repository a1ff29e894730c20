import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { messageOf } from '#contracts/errors'
import { definePlugin } from '#contracts/plugin'
import { MODEL_WIRES, PROVIDER_ENTRIES, PROVIDERS, RECORDS, SECRETS } from '#contracts/ports'
import { resolveBySystem } from './base-url.js'
import { ModelSettingsConfig } from './config.js'
import { KeyFiles } from './key-file.js'
import { createFolderShelf, createMemoryShelf } from './key-shelf.js'
import { SYSTEM_KEYCHAIN } from './keychain.js'
import { ModelSettings } from './model-settings.js'
import { catalogOf } from './overlay.js'
import { modelSettingsRoutes } from './routes.js'
import { SettingsStore } from './settings-store.js'

/** Providers, exposure and prices, set while the daemon runs. */
export const plugin = definePlugin({
  name: 'model-settings',
  config: ModelSettingsConfig,
  needs: [RECORDS],
  optional: [PROVIDERS, SECRETS],
  gathers: [PROVIDER_ENTRIES, MODEL_WIRES],
  async register(scope) {
    const { config, log } = scope
    const providers = scope.find(PROVIDERS)
    if (providers === undefined) return scope.routes(modelSettingsRoutes(undefined))

    const store = new SettingsStore(scope.use(RECORDS))
    const memory = scope.carry('keys', () => new Map<string, string>())
    const changes = scope.carry('changes', () => new EventEmitter().setMaxListeners(0))
    const desk = new ModelSettings({
      providers,
      store,
      places: {
        secrets: scope.find(SECRETS) ?? { get: () => undefined },
        files: new KeyFiles([join(config.directory, 'secrets'), ...config.key_directories]),
        shelf: store.isDurable ? createFolderShelf(join(config.directory, 'model-keys')) : createMemoryShelf(memory),
        keychain: SYSTEM_KEYCHAIN,
        variables: config.key_variables,
      },
      catalog: catalogOf(scope.gather(PROVIDER_ENTRIES)),
      protocols: [...new Set(scope.gather(MODEL_WIRES).flatMap(wire => wire.protocols))].sort(),
      resolve: resolveBySystem,
      log,
      announce: () => changes.emit('changed', desk),
    })
    scope.defer(() => desk.close())
    await desk.lay()
    // Runs of an older generation see what a newer one was told, and the other way round.
    const onChange = (origin: unknown): void => {
      if (origin === desk) return
      desk.lay().catch(error => log.error({ reason: messageOf(error) }, 'changed model settings could not be read'))
    }
    changes.on('changed', onChange)
    scope.defer(() => void changes.off('changed', onChange))
    scope.routes(modelSettingsRoutes(desk))
  },
})
