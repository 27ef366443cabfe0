/** How deep the tests search: `npm test` takes minutes, `npm run test:deep` as long as it is given. */

/** More runs of each property, and other seeds. */
export const isDeep = process.env.ROLLCALL_DEEP === '1'

/** Each test on both stores with all of its cases, and the files that end with `.deep.test.ts`: in the deep suite and in `.ci/run`. */
export const isWhole = isDeep || process.env.ROLLCALL_STORES === 'both'

/** The number of runs of a property. */
export const runs = (quick: number, deep: number = quick * 5): number => (isDeep ? deep : quick)

/** A number of cases or runs: `all` in a whole run, otherwise `some`. */
export const someOf = (some: number, all: number): number => (isWhole ? all : some)

/** Cases of one rule: all in a whole run, otherwise the first ones. */
export const casesOf = <const T>(some: number, cases: readonly T[]): readonly T[] =>
  cases.slice(0, someOf(some, cases.length))

/** Of all that is random in a run (see properties.ts). */
export const seed = Number(process.env.ROLLCALL_SEED ?? 1)
