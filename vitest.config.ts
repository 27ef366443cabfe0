import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { defineConfig } from 'vitest/config'
import { findPostgres } from './test/support/databases/postgres-server.ts'
import { isDeep, isWhole, seed } from './test/support/runner/depth.ts'
import { fastFolder } from './test/support/runner/fast-folder.ts'
import { showProgress } from './test/support/runner/progress.ts'
import { writeResults } from './test/support/runner/results.ts'
import { SlowestFirst } from './test/support/runner/slowest-first.ts'
import { endWhen } from './test/support/runner/time-limit.ts'

// Compiled modules, and TypeScript without its types, for the workers and for every process that a test starts.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/rollcall-test/compiled')
process.env.TMPDIR = fastFolder()
// Freed memory stays in each arena of malloc. A worker with few arenas is smaller, so the kernel copies less for each process that it starts.
process.env.MALLOC_ARENA_MAX ??= '2'

const { ROLLCALL_TEST_RESULTS: results, ROLLCALL_END: end } = process.env
const command = `${isDeep ? 'ROLLCALL_DEEP=1 ' : ''}ROLLCALL_SEED=${seed} npm test --`

export default defineConfig({
  // As Node itself resolves: otherwise the tests' graphql is not the one that Yoga and Pothos load.
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**', ...(isWhole ? [] : ['**/*.deep.test.ts'])],
    // A file that tests PostgreSQL alone has no tests without it.
    passWithNoTests: !process.env.DATABASE_URL && findPostgres() === null,
    globalSetup: ['test/support/runner/global-setup.ts'],
    reporters: [
      'minimal',
      showProgress({ root: import.meta.dirname, command }),
      ...(results ? [writeResults(results)] : []),
      ...(end ? [endWhen(setTimeout(Number(end) - Date.now(), null, { ref: false }))] : []),
    ],
    setupFiles: ['test/support/runner/properties.ts'],
    pool: 'forks',
    // Most of what a test makes is dead before this much of it is there. With V8's 16 MiB, the workers take an eighth more processor time in tests of pure functions.
    execArgv: ['--max-semi-space-size=64'],
    // One worker process runs many files: importing the server anew for each takes longer than most of them. No module here keeps state
    // that one file could leave to the next.
    isolate: false,
    // Tests wait for a tenth of their time, and a worker takes 3 GB at most.
    maxWorkers: totalmem() > 12 * 2 ** 30 ? 3 : 2,
    sequence: { sequencer: SlowestFirst },
    // Two slow cores: a limit that only a hang reaches.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
