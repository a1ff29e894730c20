import { test } from 'vitest'
import { seeded } from '#test/kit/seed'
import { cancelAtRandom } from '#test/races/races'

test('5,000 runs cancelled at random moments', { timeout: 900_000 }, async () => {
  const random = seeded('cancel')
  for (let round = 0; round < 10; round++) await cancelAtRandom(random, 500, 20)
})
