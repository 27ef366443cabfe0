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
 * compared trait: the caller decides how many of them one turn of the event loop takes.
 */
import { judgeParts, type Part, partsOf } from './blocking-components.ts'
import { hypergeometricTail, logFactorials } from './exact-tail.ts'
import {
  type DiagnosedProblem,
  type DiagnosisLimits,
  diagnosisLimits,
  type Found,
  lift,
  type Observation,
  type Problem,
  problems,
  type Row,
  type Steps,
  sizeOf,
  type Tally,
} from './observed.ts'

/** `nameOf` identifies a trait. `component` makes the trait of a component. */
export function* diagnose<Trait>(
  rows: readonly Observation<Trait>[],
  { nameOf, component }: { readonly nameOf: (trait: Trait) => string; readonly component: (name: string) => Trait },
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
    const places = yield* findPlaces(rows, groups, problem, byPart, table, { ...limits, significance })
    const parts = judgeParts(byPart, sizeOf(affected), places.compared, table, { ...limits, significance })
    const causes = [...places.causes, ...parts].sort((a, b) => b.cause.count - a.cause.count)
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

interface Group<Trait> {
  readonly trait: Trait
  readonly rows: readonly Observation<Trait>[]
}

function* groupsOf<Trait>(
  rows: readonly Observation<Trait>[],
  nameOf: (trait: Trait) => string,
): Steps<Group<Trait>[]> {
  const groups = new Map<string, { trait: Trait; rows: Observation<Trait>[] }>()
  for (const row of rows) {
    for (const trait of row.traits) {
      const name = nameOf(trait)
      const group = groups.get(name) ?? { trait, rows: [] }
      groups.set(name, group)
      group.rows.push(row)
    }
    yield
  }
  return [...groups.values()]
}

interface Candidate<Trait> {
  readonly group: Group<Trait>
  /** Its deployments that no other cause explains. */
  readonly own: readonly Observation<Trait>[]
  readonly drawn: number
  readonly count: number
  /** The smallest probability that a group of this size can have. */
  readonly least: number
}

/** The traits that explain the problem, each without the deployments of those before it. */
function* findPlaces<Trait>(
  rows: readonly Observation<Trait>[],
  groups: readonly Group<Trait>[],
  problem: Problem,
  parts: readonly Part<Trait>[],
  table: Float64Array,
  limits: DiagnosisLimits,
): Steps<{ readonly causes: readonly Found<Trait>[]; readonly compared: number }> {
  const whole = tally(rows, problem)
  // A group that is smaller than the least share cannot be a cause, whatever its outcomes: it is not compared.
  const eligible = groups.filter((group) => sizeOf(group.rows) >= limits.leastShare * whole.marked)
  const causes: Found<Trait>[] = []
  const apart = new Set<Row>()
  let compared = 1
  while (causes.length < limits.mostCauses) {
    const left = rows.filter((row) => !apart.has(row))
    const { all, marked } = tally(left, problem)
    if (marked === 0) break
    const candidates: Candidate<Trait>[] = []
    for (const group of eligible) {
      yield
      const own = group.rows.filter((row) => !apart.has(row))
      const { all: drawn, marked: count } = tally(own, problem)
      // A group of all or of none differs from nothing.
      if (drawn === 0 || drawn === all) continue
      const least = hypergeometricTail(table, { all, marked, drawn }, Math.min(drawn, marked))
      candidates.push({ group, own, drawn, count, least })
    }
    const tests = candidates.map(({ least }) => least)
    for (const part of parts) {
      yield
      tests.push(part.least(table))
    }
    const number = comparisons(tests, limits.significance)
    if (causes.length === 0) compared = number
    const found: (Candidate<Trait> & { readonly pValue: number })[] = []
    for (const candidate of candidates) {
      const { drawn, count } = candidate
      const ratio = lift(count / drawn, (marked - count) / (all - drawn))
      const isLarge = count >= limits.leastShare * whole.marked && (ratio === null || ratio >= limits.leastLift)
      if (count === 0 || !isLarge) continue
      yield
      const pValue = hypergeometricTail(table, { all, marked, drawn }, count) * number
      if (pValue <= limits.significance) found.push({ ...candidate, pValue })
    }
    found.sort((a, b) => a.pValue - b.pValue)
    const [best] = found
    if (!best) break
    const alike = found.filter(({ group }) => group !== best.group && isSame(group.rows, best.group.rows))
    const { all: size, marked: count } = tally(best.group.rows, problem)
    const rates = { rate: count / size, restRate: size === whole.all ? 0 : (whole.marked - count) / (whole.all - size) }
    const members = new Set<Row>(best.group.rows)
    causes.push({
      cause: {
        trait: best.group.trait,
        alike: alike.map(({ group }) => group.trait),
        count,
        size,
        share: count / whole.marked,
        ...rates,
        lift: lift(rates.rate, rates.restRate),
        pValue: Math.min(best.pValue, 1),
      },
      has: (row) => members.has(row),
    })
    for (const row of best.own) apart.add(row)
  }
  return { causes, compared }
}

/**
 * The number of comparisons to correct for (Tarone, 1990). A group that is too small to be significant even if all of its deployments were affected
 * is not compared: its size alone decides that, not the outcome. Bonferroni's correction for all groups would hide a gateway among thousands of
 * single devices.
 */
function comparisons(smallest: readonly number[], significance: number): number {
  const ascending = Float64Array.from(smallest).sort()
  let number = 1
  while ((ascending[number] ?? Number.POSITIVE_INFINITY) * number <= significance) number += 1
  return number
}

const mostErrors = 5

function errorsOf<Trait>(affected: readonly Observation<Trait>[], nameOf: (trait: Trait) => string): Tally<Trait>[] {
  const found = new Map<string, { trait: Trait; count: number }>()
  for (const { error, n } of affected) {
    if (error === null) continue
    const tally = found.get(nameOf(error)) ?? { trait: error, count: 0 }
    found.set(nameOf(error), tally)
    tally.count += n
  }
  const whole = sizeOf(affected)
  return [...found.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, mostErrors)
    .map(({ trait, count }) => ({ trait, count, share: count / whole }))
}

function tally(rows: readonly Row[], problem: Problem): { readonly all: number; readonly marked: number } {
  let [all, marked] = [0, 0]
  for (const row of rows) {
    all += row.n
    if (row.problem === problem) marked += row.n
  }
  return { all, marked }
}

function isSame(some: readonly Row[], others: readonly Row[]): boolean {
  return some.length === others.length && some.every((row, index) => row === others[index])
}
