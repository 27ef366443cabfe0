import { storable } from '../domain/text.ts'
import type { Readiness } from '../domain/values.ts'

/** The readiness of one object. `reason` is a CamelCase word for programs, `message` is for people. READY needs neither. */
export interface Assessment {
  readonly readiness: Readiness
  readonly reason: string | null
  readonly message: string | null
}

type Assess = (reason: string | null, message?: string | null) => Assessment

const say =
  (readiness: Readiness): Assess =>
  (reason, message = null) => ({ readiness, reason: storableOrNull(reason), message: storableOrNull(message) })

/** Most of these texts come from the object's status, so they may contain anything. */
const storableOrNull = (text: string | null): string | null => (text ? storable(text) : null)

export const pending = say('PENDING')
export const failed = say('FAILED')
export const unknown = say('UNKNOWN')
export const ready = (message: string | null = null): Assessment => say('READY')(null, message)
