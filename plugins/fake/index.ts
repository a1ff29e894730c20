import { definePlugin, STAGE } from '#contracts/plugin'
import { MODEL_WIRES, PROVIDER_ENTRIES } from '#contracts/ports'
import { FakeConfig } from './config.js'
import { FakeClient, type TurnCursor } from './fake-client.js'
import { readTurnsFile } from './turns-file.js'
import { FAKE, FAKE_CATALOG, fakeWire } from './wire.js'

export const plugin = definePlugin({
  name: 'fake',
  config: FakeConfig,
  contributes: [MODEL_WIRES, PROVIDER_ENTRIES],
  honours: ['model', 'provider_name'],
  async register(scope) {
    const { provider, turns_file, model } = scope.config
    if (provider !== FAKE) {
      scope.contribute(MODEL_WIRES, fakeWire(undefined))
      return
    }
    const turns = await readTurnsFile(turns_file)
    const cursor = scope.carry<TurnCursor>(`cursor:${turns_file}`, () => ({ next: 0 }))
    const client = new FakeClient(turns, cursor)
    scope.defer(() => client.close())
    scope.log.info({ turns: turns.length, next: cursor.next }, 'every turn is answered from the turns file')
    scope.contribute(
      MODEL_WIRES,
      fakeWire(name => new FakeClient(turns, cursor, name)),
    )
    scope.contribute(PROVIDER_ENTRIES, FAKE_CATALOG)
    scope.tap(
      'providerResolving',
      async request => [{ provider: client.provider, model: request.model || model, client }],
      { stage: STAGE.first },
    )
  },
})
