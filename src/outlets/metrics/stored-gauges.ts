/** The gauges that are read from the database: how far the hub lags behind the log's head, how far its time is ahead, sinks and duties. */
import type { Hub } from '../../feed/hub.ts'
import { readHead, secondsAhead } from '../../store/connection/log-head.ts'
import { answerWithin } from '../../store/connection/timeout.ts'
import type { Database, LogHead } from '../../store/database.ts'
import { ageOf, listDuties } from '../../store/duties.ts'
import { listSinkStates } from '../../store/sinks/sinks.ts'
import type { DutyMetrics, SinkState } from './metrics.ts'

interface StoredGauges {
  /** Revisions. */
  lag(): Promise<number>
  /** Seconds. */
  logAhead(): Promise<number>
  sinks(): Promise<readonly SinkState[]>
  duties(): Promise<readonly DutyMetrics[]>
}

export function createStoredGauges(database: Database, hub: Hub, clock: () => number): StoredGauges {
  /** NaN: the database does not answer in time. `value` is called immediately after the answer, so later commits do not count. */
  function measure(value: (head: LogHead) => number): Promise<number> {
    const measured = readHead(database.session)
      .then(value)
      .catch(() => Number.NaN)
    return answerWithin(1_000, measured, Number.NaN)
  }

  return {
    lag: () => measure(({ revision }) => Math.max(revision - hub.last, 0)),
    logAhead: () => measure((head) => secondsAhead(head, clock())),
    sinks: () => listSinkStates(database).catch(() => []),
    async duties() {
      const duties = await listDuties(database.session).catch(() => [])
      return duties.map((duty) => ({ ...duty, ageSeconds: ageOf(duty.succeededAt, clock()) }))
    },
  }
}
