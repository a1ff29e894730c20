import { defineConfig } from 'vitest/config'

const NIGHTLY = 'dist/test/nightly/**/*.test.js'
const SOAK = 'dist/test/soak/**/*.test.js'
const LANES = {
  merge: { include: ['dist/**/*.test.js'], exclude: [NIGHTLY, SOAK] },
  nightly: { include: [NIGHTLY], exclude: [] },
  soak: { include: [SOAK], exclude: [] },
}
const lane = LANES[process.env.RUNWRIGHT_LANE ?? 'merge']

// Tests run against dist, the very files that ship: one copy of every module, plugins staged and imported as in production.
export default defineConfig({
  test: {
    // Another way to compile than the launcher's leaves out what plugins ship besides code.
    globalSetup: ['config/launch/assets.mjs'],
    include: lane.include,
    exclude: [...lane.exclude, 'dist/shelf/**', 'node_modules/**'],
    server: { deps: { external: [/\/dist\/(?!.*\.test\.js$)/, /node_modules/] } },
    // Nets for what hangs, wide enough for a machine that is ten times slower: what is quick says so by its own events.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 25 } },
    pool: 'forks',
  },
})
