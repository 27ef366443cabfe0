import type { Assessment } from '../orchestration/resource.ts'
import { storable } from '../text.ts'
import type { Readiness } from '../values.ts'

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
