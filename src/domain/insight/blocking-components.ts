/** Which components hold their deployments back, compared with the other components of the same deployments. */
import { binomialTail } from './exact-tail.ts'
import { type DiagnosisLimits, type Found, lift, type Observation, type Row, type Steps } from './observed.ts'

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

/** One component in `n` deployments that have `all` components, of which `hit` are affected. */
interface Share {
  readonly n: number
  readonly own: 0 | 1
  readonly hit: number
  readonly all: number
}

/** Reads each component of each deployment a fixed number of times: fleets may have components with names of their own on each device. */
export function* partsOf<Trait>(
  affected: readonly Observation<Trait>[],
  component: (name: string) => Trait,
): Steps<Part<Trait>[]> {
  const parts = new Map<string, Share[]>()
  for (const row of affected) {
    yield
    const hit = row.components.filter(({ isAffected }) => isAffected).length
    if (hit === 0 || hit === row.components.length) continue
    for (const { name, isAffected } of row.components) {
      const shares = parts.get(name) ?? []
      if (shares.length === 0) parts.set(name, shares)
      shares.push({ n: row.n, own: isAffected ? 1 : 0, hit, all: row.components.length })
    }
  }
  return [...parts].map(([name, shares]) => {
    let [trials, count, expected, othersSize, othersCount] = [0, 0, 0, 0, 0]
    for (const { n, own, hit, all } of shares) {
      trials += n
      count += own * n
      expected += (n * hit) / all
      othersSize += n * (all - 1)
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
