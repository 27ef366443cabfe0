/** The primitive values of the domain's types. */

export const deploymentStates = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'] as const

export type DeploymentState = (typeof deploymentStates)[number]

export const failureStages = ['PRE_PROCESSING', 'PROCESSING', 'POST_PROCESSING'] as const

export type FailureStage = (typeof failureStages)[number]

export const readinesses = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const

export type Readiness = (typeof readinesses)[number]

/** The number of a change: without gaps within an epoch, at most 2^53-1. An epoch starts at the clock's microseconds. */
export type Revision = number

/** A client's word for the oldest retained revision, which only the database knows. It is below every revision. */
export const oldestRetained: Revision = -1

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Millis = number

/** An unsigned 64-bit integer as decimal digits, without leading zeros. A double cannot hold every such integer. */
export type Digits = string

export interface StatusError {
  readonly code: string
  readonly message: string
  readonly source?: string
  /** Characters that code, message and source had together, as sent. Absent: nothing was cut. */
  readonly originalLength?: number
}

export function compareDigits(a: Digits, b: Digits): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}
