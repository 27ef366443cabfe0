/**
 * The causes of a rollout's problems: what the affected deployments have in common, and the others have not. docs/insight.md explains the method.
 *
 *   each trait (a gateway, a version, a label …)   Fisher's exact test, one-sided
 *   each component                                 against the other components of the same deployments
 *   the most significant trait                     is a cause; its deployments are set aside, and the others are tested again
 *
 * Alternatives: a fixed ratio was rejected, because in a small group any ratio arises by chance. Sampling was rejected, because a cause of few
 * failures would be missed.
 *
 * A device may have 100 labels that no other device has. So the steps are a generator, which pauses after each deployment and after each
 * compared trait: the caller decides how many of them one turn of the event loop takes, and whether to go on. Each trait is counted once. A cause
 * that is set aside is subtracted from the counts: to count all traits again for each cause took seconds.
 */
import { judgeParts, type Part, partsOf } from './blocking-components.ts'
import { hypergeometricTail, logFactorials } from './exact-tail.ts'
import {
  type DiagnosedProblem,
  type DiagnosisLimits,
  diagnosisLimits,
  type Found,
  lift,
  mostErrors,
  type Observation,
  type Problem,
  problems,
  type Row,
  type Steps,
  sizeOf,
  type Tally,
  type Unlikely,
} from './observed.ts'

/** `nameOf` identifies a trait. `component` makes the trait of a component. `unlikely`: traits that the rows leave out. */
export function* diagnose<Trait>(
  rows: readonly Observation<Trait>[],
  { nameOf, component }: { readonly nameOf: (trait: Trait) => string; readonly component: (name: string) => Trait },
  unlikely: readonly Unlikely[] = [],
  limits: DiagnosisLimits = diagnosisLimits,
): Steps<readonly DiagnosedProblem<Trait>[]> {
  const table = logFactorials(sizeOf(rows))
  const groups = yield* groupsOf(rows, nameOf)
  const present = problems.filter((problem) => rows.some((row) => row.problem === problem))
  // Each problem has an equal part of the error.
  const significance = limits.significance / present.length
  const diagnosed: DiagnosedProblem<Trait>[] = []
  for (const problem of present) {
    const affected = rows.filter((row) => row.problem === problem)
    const byPart = problem === 'WAITING' ? [] : yield* partsOf(affected, component)
    const places = yield* findPlaces({ rows, groups, unlikely, problem }, byPart, table, { ...limits, significance })
    const parts = judgeParts(byPart, sizeOf(affected), places.compared, table, { ...limits, significance })
    const causes = [...places.causes, ...parts].sort(
      ({ cause: a }, { cause: b }) =>
        b.count - a.count || a.pValue - b.pValue || inOrder(nameOf(a.trait), nameOf(b.trait)),
    )
    const explained = affected.filter((row) => causes.some(({ has }) => has(row)))
    diagnosed.push({
      problem,
      count: sizeOf(affected),
      causes: causes.slice(0, limits.mostCauses).map(({ cause }) => cause),
      explained: sizeOf(explained) / sizeOf(affected),
      errors: errorsOf(affected, nameOf),
    })
  }
  return diagnosed
}

/** Deployments by trait. A trait is a number: its place in `traits`, `names` and `sizes`. */
interface Groups<Trait> {
  readonly traits: readonly Trait[]
  readonly names: readonly string[]
  readonly sizes: readonly number[]
  /** The traits of each row, in the order of the rows. */
  readonly of: readonly (readonly number[])[]
}

function* groupsOf<Trait>(rows: readonly Observation<Trait>[], nameOf: (trait: Trait) => string): Steps<Groups<Trait>> {
  const places = new Map<string, number>()
  const traits: Trait[] = []
  const sizes: number[] = []
  const of: number[][] = []
  for (const row of rows) {
    const { n } = row
    of.push(
      row.traits.map((trait) => {
        const name = nameOf(trait)
        const known = places.get(name)
        if (known !== undefined) {
          sizes[known] = (sizes[known] ?? 0) + n
          return known
        }
        places.set(name, sizes.push(n) - 1)
        return traits.push(trait) - 1
      }),
    )
    yield
  }
  return { traits, names: [...places.keys()], sizes, of }
}

/** `n` traits, and the smallest probability that each of them can have. */
interface Test {
  readonly least: number
  readonly n: number
}

interface Candidate {
  readonly place: number
  readonly drawn: number
  readonly count: number
}

interface Subject<Trait> {
  readonly rows: readonly Observation<Trait>[]
  readonly groups: Groups<Trait>
  readonly unlikely: readonly Unlikely[]
  readonly problem: Problem
}

/** The deployments that no cause explains yet: all of them, those with the problem, and both for each trait. */
function* countsOf<Trait>({ rows, groups, problem }: Omit<Subject<Trait>, 'unlikely'>) {
  const drawn = Float64Array.from(groups.sizes)
  const marked = new Float64Array(groups.sizes.length)
  const left = tally(rows, problem)
  const apart = new Set<Row>()
  const add = (counts: Float64Array, index: number, n: number): void => {
    for (const place of groups.of[index] ?? []) counts[place] = (counts[place] ?? 0) + n
  }
  for (const [index, row] of rows.entries()) {
    if (row.problem !== problem) continue
    add(marked, index, row.n)
    yield
  }

  function setAside(index: number, row: Row): void {
    if (apart.has(row)) return
    apart.add(row)
    const { n, problem: own } = row
    left.all -= n
    add(drawn, index, -n)
    if (own !== problem) return
    left.marked -= n
    add(marked, index, -n)
  }
  return { left, drawn, marked, setAside }
}

/** The traits that explain the problem, each without the deployments of those before it. */
function* findPlaces<Trait>(
  subject: Subject<Trait>,
  parts: readonly Part<Trait>[],
  table: Float64Array,
  limits: DiagnosisLimits,
): Steps<{ readonly causes: readonly Found<Trait>[]; readonly compared: number }> {
  const { rows, groups, unlikely, problem } = subject
  const whole = tally(rows, problem)
  const counts = yield* countsOf(subject)
  const leastCount = limits.leastShare * whole.marked
  // A group that is smaller than the least share cannot be a cause, whatever its outcomes: it is not compared.
  const eligible: number[] = []
  for (const [place, size] of groups.sizes.entries()) if (size >= leastCount) eligible.push(place)
  const causes: Found<Trait>[] = []
  let compared = 1
  while (causes.length < limits.mostCauses) {
    const { all, marked } = counts.left
    if (marked === 0) break
    const candidates: Candidate[] = []
    const tests: Test[] = []
    for (const place of eligible) {
      yield
      const [drawn = 0, count = 0] = [counts.drawn[place], counts.marked[place]]
      // A group of all or of none differs from nothing.
      if (drawn === 0 || drawn === all) continue
      // The smallest probability that a group of this size can have.
      tests.push({ least: hypergeometricTail(table, { all, marked, drawn }, Math.min(drawn, marked)), n: 1 })
      if (count > 0) candidates.push({ place, drawn, count })
    }
    for (const part of parts) {
      yield
      tests.push({ least: part.least(table), n: 1 })
    }
    for (const { size, n } of unlikely) {
      yield
      if (size < leastCount || size === whole.all) continue
      // How many of theirs are set aside is not known. Whatever that number is, the probability is not smaller.
      const drawn = causes.length === 0 ? size : Math.min(size, marked)
      tests.push({ least: hypergeometricTail(table, { all, marked, drawn }, Math.min(drawn, marked)), n })
    }
    const number = comparisons(tests, limits.significance)
    if (causes.length === 0) compared = number
    const found: (Candidate & { readonly pValue: number })[] = []
    for (const candidate of candidates) {
      const { drawn, count } = candidate
      const ratio = lift(count / drawn, (marked - count) / (all - drawn))
      if (count < leastCount || (ratio !== null && ratio < limits.leastLift)) continue
      yield
      const pValue = hypergeometricTail(table, { all, marked, drawn }, count) * number
      if (pValue <= limits.significance) found.push({ ...candidate, pValue })
    }
    found.sort((a, b) => a.pValue - b.pValue || inOrder(groups.names[a.place], groups.names[b.place]))
    const [best] = found
    if (!best) break
    const members: number[] = []
    for (const [index, places] of groups.of.entries()) if (places.includes(best.place)) members.push(index)
    const alike: Trait[] = []
    for (const { place } of found) {
      yield
      const trait = groups.traits[place]
      if (place === best.place || trait === undefined || groups.sizes[place] !== groups.sizes[best.place]) continue
      if (members.every((index) => groups.of[index]?.includes(place))) alike.push(trait)
    }
    const own = new Set<Row>()
    for (const index of members) {
      yield
      const row = rows[index]
      if (!row) continue
      own.add(row)
      counts.setAside(index, row)
    }
    const { all: size, marked: count } = tally([...own], problem)
    const rest = counts.left
    const rates = { rate: count / size, restRate: rest.all === 0 ? 0 : rest.marked / rest.all }
    const trait = groups.traits[best.place] as Trait
    causes.push({
      cause: {
        ...{ trait, alike, count, size, share: count / whole.marked, ...rates },
        lift: lift(rates.rate, rates.restRate),
        pValue: Math.min(best.pValue, 1),
      },
      has: (row) => own.has(row),
    })
  }
  return { causes, compared }
}

/**
 * The number of comparisons to correct for (Tarone, 1990). A group that is too small to be significant even if all of its deployments were affected
 * is not compared: its size alone decides that, not the outcome. Bonferroni's correction for all groups would hide a gateway among thousands of
 * single devices.
 */
function comparisons(tests: readonly Test[], significance: number): number {
  let number = 1
  let rank = 0
  for (const { least, n } of tests.toSorted((a, b) => a.least - b.least)) {
    rank += n
    // As many as can be compared so that this one may still be significant.
    number = Math.max(number, Math.min(rank, Math.floor(significance / least) + 1))
    if (number < rank) break
  }
  return number
}

function errorsOf<Trait>(affected: readonly Observation<Trait>[], nameOf: (trait: Trait) => string): Tally<Trait>[] {
  const found = new Map<string, { trait: Trait; count: number }>()
  for (const { error, n } of affected) {
    if (error === null) continue
    const tally = found.get(nameOf(error)) ?? { trait: error, count: 0 }
    found.set(nameOf(error), tally)
    tally.count += n
  }
  const whole = sizeOf(affected)
  return [...found]
    .sort(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || inOrder(a, b))
    .slice(0, mostErrors)
    .map(([, { trait, count }]) => ({ trait, count, share: count / whole }))
}

function tally(rows: readonly Row[], problem: Problem): { all: number; marked: number } {
  let [all, marked] = [0, 0]
  for (const row of rows) {
    all += row.n
    if (row.problem === problem) marked += row.n
  }
  return { all, marked }
}

/** Rows come in any order. Equal deployments must give an equal answer. */
function inOrder(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
