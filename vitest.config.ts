import { defineConfig } from 'vitest/config'

export default defineConfig({
  // As Node itself resolves: otherwise the tests' graphql is not the one that Yoga and Pothos load.
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Two slow cores: a limit that only a hang reaches.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
