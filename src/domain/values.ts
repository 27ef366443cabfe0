/** The primitive values that every noun is made of. */

export const deploymentStates = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'] as const

export type DeploymentState = (typeof deploymentStates)[number]

export const failureStages = ['PRE_PROCESSING', 'PROCESSING', 'POST_PROCESSING'] as const

export type FailureStage = (typeof failureStages)[number]

export const readinesses = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const

export type Readiness = (typeof readinesses)[number]

/** A revision: gap-free within an epoch, at most 2^53-1 (an epoch's base is microseconds of the clock). */
export type Revision = number

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Millis = number

/** Decimal digits of an unsigned 64-bit integer, without leading zeros: a double cannot hold them all. */
export type Digits = string

export interface StatusError {
  readonly code: string
  readonly message: string
  readonly source?: string
}

export function compareDigits(a: Digits, b: Digits): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}
