/**
 * The traits that explain a problem, the most significant one first, each without the deployments of those before it (diagnosis.ts):
 *
 *   compare   the traits that the remaining deployments can be tested for, and the number of comparisons
 *   test      Fisher's exact test of each of them, corrected for the comparisons
 *   explain   the most significant one is a cause; its deployments are set aside, and the others are tested again
 */
import type { Part } from './blocking-components.ts'
import { hypergeometricTail } from './exact-tail.ts'
import {
  type DiagnosisLimits,
  type Found,
  inOrder,
  lift,
  type Observation,
  type Problem,
  type Row,
  type Steps,
  type Unlikely,
} from './observed.ts'
import { countUnexplained, type Groups, type Marked, tally, type Unexplained } from './trait-counts.ts'

export interface Subject<Trait> {
  readonly rows: readonly Observation<Trait>[]
  readonly groups: Groups<Trait>
  /** Traits that the rows leave out. */
  readonly unlikely: readonly Unlikely[]
  readonly parts: readonly Part<Trait>[]
  readonly problem: Problem
  /** Logarithms of factorials, for all numbers of deployments. */
  readonly table: Float64Array
  readonly limits: DiagnosisLimits
}

/** A trait of some remaining deployments: `drawn` of them, of which `count` are affected. */
interface Candidate {
  readonly place: number
  readonly drawn: number
  readonly count: number
}

interface Significant extends Candidate {
  readonly pValue: number
}

/** `compared`: the comparisons before the first cause was set aside. */
export function* findExplainingTraits<Trait>(
  subject: Subject<Trait>,
): Steps<{ readonly causes: readonly Found<Trait>[]; readonly compared: number }> {
  const { rows, groups, problem, limits } = subject
  const whole = tally(rows, problem)
  const unexplained = yield* countUnexplained(rows, groups, problem)
  // A group that is smaller than the least share cannot be a cause, whatever its outcomes: it is not compared.
  const eligible = [...groups.sizes.keys()].filter((place) => (groups.sizes[place] ?? 0) >= leastCount(subject, whole))
  const causes: Found<Trait>[] = []
  let compared = 1
  while (causes.length < limits.mostCauses && unexplained.left.marked > 0) {
    const isFirst = causes.length === 0
    const { candidates, comparisons } = yield* compare(subject, whole, unexplained, eligible, isFirst)
    const number = correction(comparisons, limits.significance)
    if (isFirst) compared = number
    const found = yield* test(subject, leastCount(subject, whole), unexplained.left, candidates, number)
    const [best] = found
    if (!best) break
    causes.push(yield* explain(subject, whole, unexplained, best, found))
  }
  return { causes, compared }
}

function leastCount<Trait>({ limits }: Subject<Trait>, whole: Marked): number {
  return limits.leastShare * whole.marked
}

function* compare<Trait>(
  subject: Subject<Trait>,
  whole: Marked,
  { left, ...counts }: Unexplained,
  eligible: readonly number[],
  isFirst: boolean,
): Steps<{ readonly candidates: readonly Candidate[]; readonly comparisons: readonly Comparison[] }> {
  const { parts, unlikely, table } = subject
  const candidates: Candidate[] = []
  const comparisons: Comparison[] = []
  /** The smallest probability that a group of this size can have. */
  const leastOf = (drawn: number): number => hypergeometricTail(table, { ...left, drawn }, Math.min(drawn, left.marked))
  for (const place of eligible) {
    yield
    const [drawn = 0, count = 0] = [counts.drawn[place], counts.marked[place]]
    // A group of all or of none differs from nothing.
    if (drawn === 0 || drawn === left.all) continue
    comparisons.push({ least: leastOf(drawn), n: 1 })
    if (count > 0) candidates.push({ place, drawn, count })
  }
  for (const part of parts) {
    yield
    comparisons.push({ least: part.least(table), n: 1 })
  }
  for (const { size, n } of unlikely) {
    yield
    if (size < leastCount(subject, whole) || size === whole.all) continue
    // How many of theirs are set aside is not known. Whatever that number is, the probability is not smaller.
    comparisons.push({ least: leastOf(isFirst ? size : Math.min(size, left.marked)), n })
  }
  return { candidates, comparisons }
}

/** The significant candidates, the most significant one first. */
function* test<Trait>(
  { groups, table, limits }: Subject<Trait>,
  least: number,
  { all, marked }: Marked,
  candidates: readonly Candidate[],
  number: number,
): Steps<readonly Significant[]> {
  const found: Significant[] = []
  for (const candidate of candidates) {
    const { drawn, count } = candidate
    const ratio = lift(count / drawn, (marked - count) / (all - drawn))
    if (count < least || (ratio !== null && ratio < limits.leastLift)) continue
    yield
    const pValue = hypergeometricTail(table, { all, marked, drawn }, count) * number
    if (pValue <= limits.significance) found.push({ ...candidate, pValue })
  }
  return found.sort((a, b) => a.pValue - b.pValue || inOrder(groups.names[a.place], groups.names[b.place]))
}

/** Sets the deployments of a trait aside, and describes it as a cause. */
function* explain<Trait>(
  { rows, groups, problem }: Subject<Trait>,
  whole: Marked,
  { left, setAside }: Unexplained,
  { place, pValue }: Significant,
  found: readonly Significant[],
): Steps<Found<Trait>> {
  const members: number[] = []
  for (const [index, places] of groups.of.entries()) if (places.includes(place)) members.push(index)
  const alike = yield* traitsAlike(groups, place, members, found)
  const own = new Set<Row>()
  for (const index of members) {
    yield
    const row = rows[index]
    if (!row) continue
    own.add(row)
    setAside(index, row)
  }
  const { all: size, marked: count } = tally([...own], problem)
  const rates = { rate: count / size, restRate: left.all === 0 ? 0 : left.marked / left.all }
  const trait = groups.traits[place] as Trait
  return {
    cause: {
      ...{ trait, alike, count, size, share: count / whole.marked, ...rates },
      lift: lift(rates.rate, rates.restRate),
      pValue: Math.min(pValue, 1),
    },
    has: (row) => own.has(row),
  }
}

/** The other significant traits that exactly the same deployments have. */
function* traitsAlike<Trait>(
  groups: Groups<Trait>,
  best: number,
  members: readonly number[],
  found: readonly Significant[],
): Steps<readonly Trait[]> {
  const alike: Trait[] = []
  for (const { place } of found) {
    yield
    const trait = groups.traits[place]
    if (place === best || trait === undefined || groups.sizes[place] !== groups.sizes[best]) continue
    if (members.every((index) => groups.of[index]?.includes(place))) alike.push(trait)
  }
  return alike
}

/** How many comparisons a diagnosis makes, for which each probability is corrected (diagnosis.ts). */

/** `n` traits, and the smallest probability that each of them can have. */
interface Comparison {
  readonly least: number
  readonly n: number
}

/**
 * The number of comparisons to correct for (Tarone, 1990). A group that is too small to be significant even if all of its deployments were affected
 * is not compared: its size alone decides that, not the outcome. Bonferroni's correction for all groups would hide a gateway among thousands of
 * single devices.
 */
function correction(comparisons: readonly Comparison[], significance: number): number {
  let number = 1
  let rank = 0
  for (const { least, n } of comparisons.toSorted((a, b) => a.least - b.least)) {
    rank += n
    // As many as can be compared so that this one may still be significant.
    number = Math.max(number, Math.min(rank, Math.floor(significance / least) + 1))
    if (number < rank) break
  }
  return number
}
