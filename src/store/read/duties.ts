/** The state of the background duties. One replica performs them, and each replica shows their state. */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'

export interface DutyState {
  readonly name: string
  /** Null: not yet. */
  readonly succeededAt: Millis | null
  readonly failures: number
  /** Of the last round. */
  readonly seconds: number
  /** Everything up to this revision has been read. Null: the duty reads no log. */
  readonly cursor: Revision | null
}

export function listDuties(session: Session): Promise<DutyState[]> {
  return session.run(
    'select name, succeeded_at as "succeededAt", failures, seconds, cursor from duties where attempted_at is not null order by name',
  )
}

/** Seconds since a duty was done; null: it never was. */
export function ageOf(succeededAt: Millis | null, now: Millis): number | null {
  return succeededAt === null ? null : Math.max(Math.round((now - succeededAt) / 1_000), 0)
}
