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
import { judgeParts, partsOf } from './blocking-components.ts'
import { logFactorials } from './exact-tail.ts'
import { findExplainingTraits } from './explaining-traits.ts'
import {
  type DiagnosedProblem,
  type DiagnosisLimits,
  diagnosisLimits,
  inOrder,
  mostErrors,
  type Observation,
  problems,
  type Steps,
  sizeOf,
  type Tally,
  type Unlikely,
} from './observed.ts'
import { groupsOf } from './trait-counts.ts'

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
    const ownLimits = { ...limits, significance }
    const subject = { rows, groups, unlikely, parts: byPart, problem, table, limits: ownLimits }
    const traits = yield* findExplainingTraits(subject)
    const parts = judgeParts(byPart, sizeOf(affected), traits.compared, table, ownLimits)
    const causes = [...traits.causes, ...parts].sort(
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
