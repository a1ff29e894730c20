import { definePlugin, STAGE } from '#contracts/plugin'
import { FakeConfig } from './config.js'
import { FakeClient, type TurnCursor } from './fake-client.js'
import { readTurnsFile } from './turns-file.js'

export const plugin = definePlugin({
  name: 'fake',
  config: FakeConfig,
  honours: ['model', 'provider_name'],
  async register(scope) {
    const { provider, turnsFile, model } = scope.config
    if (provider !== 'fake') return
    const turns = await readTurnsFile(turnsFile)
    const cursor = scope.carry<TurnCursor>(`cursor:${turnsFile}`, () => ({ next: 0 }))
    const client = new FakeClient(turns, cursor)
    scope.log.info({ turns: turns.length, next: cursor.next }, 'every turn is answered from the turns file')
    scope.tap(
      'providerResolving',
      async request => [{ provider: client.provider, model: request.model || model, client }],
      { stage: STAGE.first },
    )
  },
})
