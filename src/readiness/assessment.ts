import { storable } from '../domain/text.ts'
import type { Readiness } from '../domain/values.ts'

/** What we say of one object. `reason` is one CamelCase word a machine may match on, `message` is for people; READY needs neither. */
export interface Assessment {
  readonly readiness: Readiness
  readonly reason: string | null
  readonly message: string | null
}

type Say = (reason: string | null, message?: string | null) => Assessment

const say =
  (readiness: Readiness): Say =>
  (reason, message = null) => ({ readiness, reason: kept(reason), message: kept(message) })

/** Most of these texts are an object's own: they come from whoever wrote its status. */
const kept = (text: string | null): string | null => (text ? storable(text) : null)

export const pending = say('PENDING')
export const failed = say('FAILED')
export const unknown = say('UNKNOWN')
export const ready = (message: string | null = null): Assessment => say('READY')(null, message)
