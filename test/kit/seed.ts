import { createRandom } from '#test/crash/random'

/** Random numbers for a suite; the seed is printed, and `SEED=<n>` repeats a failure. */
export function seeded(suite: string): () => number {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.log(`${suite}: SEED=${seed}`)
  return createRandom(seed)
}
