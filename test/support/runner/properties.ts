/**
 * All random tests of a run have one seed: of `npm test` always the same one, so that a run without changes cannot fail where the last one passed;
 * `npm run test:deep` takes another one each time. ROLLCALL_SEED repeats it.
 *
 * A property that fails ends at once and prints its seed and counterexample. Looking for a smaller one could take longer than the test may,
 * and then nothing would be printed. With ROLLCALL_SHRINK=1 it is looked for.
 */
import fc from 'fast-check'
import { seed } from './depth.ts'

fc.configureGlobal({ endOnFailure: process.env.ROLLCALL_SHRINK !== '1', seed })
