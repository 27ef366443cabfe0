/** What a diagnosis reads, and what it says (diagnosis.ts). */
export const problems = ['FAILED', 'STALLED', 'WAITING'] as const
export type Problem = (typeof problems)[number]

/** Work that may pause where it yields (limits/pace.ts). */
export type Steps<Result> = Generator<undefined, Result, undefined>

/** Deployments that are equal in everything below. */
export interface Observation<Trait> {
  readonly n: number
  readonly problem: Problem | null
  readonly traits: readonly Trait[]
  /** The error that they show. Null: none. */
  readonly error: Trait | null
  /** All components, by name, and whether a component is in the state of the deployment. */
  readonly components: readonly { readonly name: string; readonly isAffected: boolean }[]
}

export interface Cause<Trait> {
  readonly trait: Trait
  /** Traits of exactly the same deployments. The data cannot tell them apart. */
  readonly alike: readonly Trait[]
  /** Affected deployments with the trait. */
  readonly count: number
  /** All deployments with the trait. */
  readonly size: number
  /** `count` as a part of all affected deployments. */
  readonly share: number
  /** Affected ones as a part of the deployments with the trait, and of the others without those of more significant causes. */
  readonly rate: number
  readonly restRate: number
  /** rate / restRate. Null: none of these others is affected. */
  readonly lift: number | null
  /** The probability of such a difference by chance, times the number of compared traits. */
  readonly pValue: number
}

export interface Tally<Trait> {
  readonly trait: Trait
  readonly count: number
  readonly share: number
}

/** Errors that a problem shows. */
export const mostErrors = 5

export interface DiagnosedProblem<Trait> {
  readonly problem: Problem
  readonly count: number
  readonly causes: readonly Cause<Trait>[]
  /** Affected deployments that at least one of the causes has, as a part of all. */
  readonly explained: number
  /** The most frequent errors of the affected deployments. */
  readonly errors: readonly Tally<Trait>[]
}

/** `n` traits of `size` deployments each, too few of which are affected for a cause. They are compared, so they count for the correction. */
export interface Unlikely {
  readonly size: number
  readonly n: number
}

export interface DiagnosisLimits {
  /** The probability that a rollout without any cause gets one. */
  readonly significance: number
  /** A cause has at least this part of the affected deployments. */
  readonly leastShare: number
  readonly leastLift: number
  readonly mostCauses: number
}

export const diagnosisLimits: DiagnosisLimits = {
  significance: 0.001,
  leastShare: 0.1,
  leastLift: 1.5,
  mostCauses: 5,
}

export type Row = Observation<unknown>

export interface Found<Trait> {
  readonly cause: Cause<Trait>
  readonly has: (row: Row) => boolean
}

export function sizeOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { n }) => sum + n, 0)
}

export function lift(rate: number, restRate: number): number | null {
  return restRate === 0 ? null : rate / restRate
}

/** Rows come in any order. Equal deployments must give an equal answer. */
export function inOrder(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
