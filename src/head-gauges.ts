/** The gauges that are read from the log's head: how far the hub lags behind it, and how far its time is ahead. */
import type { Hub } from './feed/hub.ts'
import { readHead, secondsAhead } from './store/connection/log-head.ts'
import type { Database, LogHead } from './store/database.ts'
import { within } from './within.ts'

export interface HeadGauges {
  /** Revisions. */
  lag(): Promise<number>
  /** Seconds. */
  logAhead(): Promise<number>
}

export function createHeadGauges(database: Database, hub: Hub, clock: () => number): HeadGauges {
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
  }
}
