import { test } from 'vitest'
import { seeded } from '#test/kit/seed'
import { checkIntegrity } from './integrity.js'

test('whatever model, caller and tool names hold, all parsers read the same events, each on one data line', async () => {
  await checkIntegrity(seeded('frame integrity'), 400)
})
