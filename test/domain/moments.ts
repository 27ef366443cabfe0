import type { Moment } from '../../src/domain/transition/transition-result.ts'

export const place = { key: 1, targetKey: 2, rolloutKey: 3 }
export const moment = (revision: number): Moment => ({ now: 1_000 + revision, at: 1_000 + revision, revision })
