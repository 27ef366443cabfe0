/** Which components hold their deployments back, compared with the other components of the same deployments. */
import { binomialTail } from './exact-tail.ts'
import { type DiagnosisLimits, type Found, lift, type Observation, type Row, sizeOf } from './observed.ts'

/** How often a component is affected, and how often it would be if all components of a deployment were alike. */
export interface Part<Trait> {
  readonly name: string
  readonly trait: Trait
  /** Deployments in which some components are affected and others are not. */
  readonly trials: number
  readonly count: number
  readonly size: number
  readonly expected: number
  /** Of its other components, the affected ones. */
  readonly others: { readonly count: number; readonly size: number }
  readonly least: (table: Float64Array) => number
}

export function partsOf<Trait>(
  affected: readonly Observation<Trait>[],
  component: (name: string) => Trait,
): Part<Trait>[] {
  const mixed = affected.filter(
    ({ components }) =>
      components.some(({ isAffected }) => isAffected) && components.some(({ isAffected }) => !isAffected),
  )
  const names = new Set(mixed.flatMap(({ components }) => components.map(({ name }) => name)))
  return [...names].map((name) => {
    const has = mixed.filter(({ components }) => components.some((one) => one.name === name))
    const trials = sizeOf(has)
    let [count, expected, othersSize, othersCount] = [0, 0, 0, 0]
    for (const { n, components } of has) {
      const hit = components.filter(({ isAffected }) => isAffected).length
      const own = components.some((one) => one.name === name && one.isAffected) ? 1 : 0
      count += own * n
      expected += (n * hit) / components.length
      othersSize += n * (components.length - 1)
      othersCount += n * (hit - own)
    }
    const others = { count: othersCount, size: othersSize }
    const least = (table: Float64Array): number => binomialTail(table, trials, expected / trials, trials)
    return { name, trait: component(name), trials, count, size: trials, expected, others, least }
  })
}

/**
 * If all components of a deployment are alike, each of its k components is one of the f affected ones with the probability f / k. The number
 * of deployments in which one is affected is then Poisson binomial. Its tail is at most that of the binomial with the same mean (Hoeffding, 1956).
 */
export function judgeParts<Trait>(
  parts: readonly Part<Trait>[],
  affected: number,
  compared: number,
  table: Float64Array,
  limits: DiagnosisLimits,
): Found<Trait>[] {
  return parts.flatMap((part) => {
    const { name, trait, trials, count, size, expected, others } = part
    if (count < expected + 1 || count < limits.leastShare * affected) return []
    const [rate, restRate] = [count / size, others.count / others.size]
    const ratio = lift(rate, restRate)
    if (ratio !== null && ratio < limits.leastLift) return []
    const pValue = binomialTail(table, trials, expected / trials, count) * compared
    if (pValue > limits.significance) return []
    const cause = { trait, alike: [], count, size, share: count / affected, rate, restRate, lift: ratio, pValue }
    const has = (row: Row): boolean => row.components.some((one) => one.name === name && one.isAffected)
    return [{ cause, has }]
  })
}
