/** How deep the tests search: `npm test` takes minutes, `npm run test:deep` as long as it is given. */

/** Also: each test on both stores, and the files that end with `.deep.test.ts`. */
export const isDeep = process.env.ROLLCALL_DEEP === '1'

/** The number of runs of a property. */
export const runs = (quick: number, deep: number = quick * 5): number => (isDeep ? deep : quick)

/** Of all that is random in a run (see properties.ts). */
export const seed = Number(process.env.ROLLCALL_SEED ?? 1)
