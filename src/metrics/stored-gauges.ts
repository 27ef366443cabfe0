/** The gauges that are read from the database: how far the hub lags behind the log's head, how far its time is ahead, sinks and duties. */
import type { Hub } from '../feed/hub.ts'
import { readHead, secondsAhead } from '../store/connection/log-head.ts'
import type { Database, LogHead } from '../store/database.ts'
import { ageOf, listDuties } from '../store/read/duties.ts'
import { listSinkStates } from '../store/sinks/sinks.ts'
import { within } from '../timing/within.ts'
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
  async function measure(value: (head: LogHead) => number): Promise<number> {
    let measured = Number.NaN
    const reading = readHead(database.session).then((head) => {
      measured = value(head)
    })
    await within(
      1_000,
      reading.catch(() => undefined),
    )
    return measured
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
