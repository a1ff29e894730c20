import { test } from 'vitest'
import { seeded } from '#test/kit/seed'
import { checkIntegrity } from '#test/streams/integrity'

test('5,000 hostile payloads read the same by all parsers', { timeout: 300_000 }, async () => {
  const random = seeded('frame integrity')
  for (let round = 0; round < 5; round++) await checkIntegrity(random, 1_000)
})
