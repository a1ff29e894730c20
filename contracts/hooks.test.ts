import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { createHookTable } from './hooks.js'
import { definePlugin } from './plugin.js'

test('the hook table is frozen, so nothing can be added behind the contract', () => {
  expect(Object.isFrozen(createHookTable())).toBe(true)
})

test('the compiler knows every hook and what its taps return', () => {
  const manifest = definePlugin({
    name: 'typed',
    config: Type.Object({}),
    register(scope) {
      // @ts-expect-error unknown hook
      scope.tap('nope', async () => undefined)
      // @ts-expect-error a verdict, not a word
      scope.tap('toolJudging', async () => 'yes')
      scope.tap('toolJudging', async (pending, run) =>
        pending.call.name === run.id ? { kind: 'allow' } : { kind: 'deny', reason: 'because' },
      )
      scope.tap('runAdmitting', async admission => ({ ...admission, policy: { ...admission.policy, network: 'deny' } }))
      scope.tap('eventAppended', event => void event.seq)
      scope.tap('eventEmitting', event => event)
      // @ts-expect-error a waterfall takes undefined for no opinion: dropping has a word
      scope.tap('eventEmitting', () => undefined)
      scope.tap('conversationEmitting', (event, run) => (run.status === 'failed' ? 'dropped' : event))
      scope.tap('runSettled', async run => void run.id)
    },
  })
  expect(manifest.name).toBe('typed')
})
