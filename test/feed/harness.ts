import { afterEach, expect } from 'vitest'
import { type DeploymentState, deploymentStates } from '../../src/domain/values.ts'
import type { FeedEvent } from '../../src/feed/event-queue.ts'
import type { FeedOptions } from '../../src/feed/feed.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { Database } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import type { Store } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

/** Each is called after the test, the last first. */
export const closing: (() => Promise<void>)[] = []
/** Closes after each test what `open` opened. */
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })
}

export async function open(store: Store, feed: Partial<FeedOptions> = {}, replicas = 1): Promise<[Road, ...Road[]]> {
  const empty = await store.create()
  closing.push(() => empty.drop())
  const roads: Road[] = []
  for (let n = 0; n < replicas; n += 1) {
    const road = await createRoad(await empty.open(), { feed })
    closing.push(() => road.close())
    roads.push(road)
  }
  const [first, ...others] = roads
  return first ? [first, ...others] : expect.unreachable()
}

let turn = 0
/** A report that changes something: each has the next state. */
export async function change(road: Road, deploymentId = 'd-1', reporter = 'edge-1'): Promise<number> {
  turn += 1
  const state = deploymentStates[turn % deploymentStates.length] as DeploymentState
  const { revision } = await road.writer.submit(
    recordReport(report({ deploymentId, reporter, state, error: { code: `${turn}`, message: '' } })),
  )
  return revision
}

export async function take<T>(stream: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const { done, value } = await stream.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

export async function takeUntil(stream: AsyncIterator<FeedEvent>, cursor: number): Promise<FeedEvent[]> {
  const taken: FeedEvent[] = []
  while ((taken.at(-1)?.cursor ?? 0) < cursor) taken.push(...(await take(stream, 1)))
  return taken
}

export const cursors = (events: readonly FeedEvent[]): number[] => events.map(({ cursor }) => cursor)
export const head = (database: Database): Promise<number> =>
  database.session.run<{ revision: number }>('select revision from log_head').then(([row]) => row?.revision ?? 0)
