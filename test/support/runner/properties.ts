/**
 * A property that fails ends at once and prints its seed and counterexample. Looking for a smaller one could take longer than the test may,
 * and then nothing would be printed. With ROLLCALL_SHRINK=1 it is looked for.
 */
import fc from 'fast-check'

fc.configureGlobal({ endOnFailure: process.env.ROLLCALL_SHRINK !== '1' })
