// @ts-check
/**
 * Preloaded into every process that a test starts.
 *
 * V8 compiles each function of PGlite that is used often a second time. Most of these processes end before that pays: it takes a seventh of
 * the processor time of a start. Now only functions that are used a hundred times as often are compiled again.
 */
import { setFlagsFromString } from 'node:v8'
import { resolveDrizzleOnce } from '../../../src/server/process/quick-start.ts'

setFlagsFromString('--wasm-tiering-budget=1300000000')
resolveDrizzleOnce()
