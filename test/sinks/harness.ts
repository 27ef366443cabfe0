import { afterEach } from 'vitest'
import { resourceBundle } from '../../src/domain/rollout.ts'
import { reportInstance, reportInstanceStatus } from '../../src/ingest/commands/bundle-instance.ts'
import { toDetail } from '../../src/ingest/dialects/kubernetes/detail.ts'
import { createOutgoing, type Outgoing, type OutgoingOptions } from '../../src/outlets/sinks/compose.ts'
import { readRange } from '../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../src/store/database.ts'
import type { EmptyStore, Store } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

/** A receiver that answers has time to, on a busy machine too: a request that is given up comes again, and the test would count it twice. */
const fast = { interval: 5_000, backOff: { first: 5, longest: 40 }, timeout: 30_000 }

export interface Replica {
  readonly road: Road
  readonly outgoing: Outgoing
  stop(): Promise<void>
}

/** Starts what sinks need, and ends it after each test. */
export function useSinks(store: Store) {
  const isShared = store.name === 'PostgreSQL'
  const ending: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end()
  })
  const use = async <T extends { close(): Promise<void> }>(thing: Promise<T>): Promise<T> => {
    const made = await thing
    ending.push(() => made.close())
    return made
  }
  const startStore = async (): Promise<EmptyStore> => {
    const empty = await store.create()
    ending.push(() => empty.drop())
    return empty
  }
  const start = async (
    on: EmptyStore,
    {
      aai = null,
      after,
      ...options
    }: Partial<Pick<OutgoingOptions, 'aai' | 'clock' | 'giveUpAfter' | 'timeout' | 'backOff'>> & {
      after?: Replica
    } = {},
  ): Promise<Replica> => {
    // A PGlite in memory is gone when it is closed: only the part that sends to sinks starts again there.
    const kept = isShared ? undefined : after?.road
    const road = kept ?? (await createRoad(await on.open()))
    const { database, feed } = road
    const outgoing = createOutgoing({
      database,
      feed,
      aai,
      allow: ['127.0.0.1'],
      publicUrl: 'http://rollcall.test',
      clock: Date.now,
      ...fast,
      ...options,
    })
    let isStopped = false
    const stop = async (): Promise<void> => {
      if (isStopped) return
      isStopped = true
      await outgoing.stop()
      if (isShared) await road.close()
    }
    if (!isShared && !kept) ending.push(() => road.close())
    ending.push(stop)
    return { road, outgoing, stop }
  }
  return { isShared, use, startStore, start }
}

export const tell = ({ writer }: Road, instanceId: string) =>
  writer.submit(
    reportInstance({
      instanceId,
      rollout: resourceBundle('rb', 'v1', 'profile'),
      cloudRegion: 'region',
      component: 'rb',
      reportedState: 'INSTALLED',
      isEnding: false,
      resources: [],
      document: JSON.stringify({ id: instanceId }),
    }),
  )
export const show = ({ writer }: Road, instanceId: string, objects: Readonly<Record<string, number>>) =>
  writer.submit(
    reportInstanceStatus(
      instanceId,
      Object.entries(objects).map(([id, generation]) => {
        const [kind = '', name = ''] = id.split('/')
        const detail = { kind, metadata: { name, labels: { generation: String(generation) } } }
        return {
          group: kind === 'Deployment' ? 'apps' : '',
          version: 'v1',
          kind,
          name,
          namespace: 'ns',
          assessment: { readiness: generation % 2 ? 'READY' : 'PENDING', reason: null, message: null },
          detail: toDetail(detail),
        }
      }),
    ),
  )

export const fleet = async (road: Road, count: number) => {
  for (let index = 0; index < count; index += 1) await tell(road, `instance-${index}`)
}

export async function tailOf({ database: { session } }: Road): Promise<number> {
  return (await readRange(session)).tail
}

export function labelOf(detail: unknown): string {
  return (detail as { metadata: { labels: { generation: string } } }).metadata.labels.generation
}

/** `renewed`: changes what each renewal of the holds answers. */
export function renewing(
  database: Database,
  renewed: (rows: { key: number }[]) => object[] | Promise<object[]>,
): Database {
  const { session } = database
  const run: Session['run'] = async <T extends object>(text: string, parameters?: readonly unknown[]) => {
    const rows = await session.run<T>(text, parameters)
    if (!text.startsWith('update sinks set holder = $1, held_until')) return rows
    return (await renewed(rows as unknown as { key: number }[])) as T[]
  }
  return { ...database, session: { ...session, run } }
}

/** Nothing that a sink was sent can be written any more, until `mend`. */
export async function breakMarks({ session }: Database) {
  await session.run('create sequence broken_marks')
  await session.run(`create function break_marks() returns trigger language plpgsql as
    $$begin perform nextval('broken_marks'); raise exception 'the marks cannot be written'; end$$`)
  await session.run('create trigger break_marks before insert on sink_marks execute function break_marks()')
  return {
    async failures(): Promise<number> {
      const [row] = await session.run<{ n: number }>(
        'select (case when is_called then last_value else 0 end)::int as n from broken_marks',
      )
      return row?.n ?? 0
    },
    async mend(): Promise<void> {
      await session.run('drop trigger break_marks on sink_marks')
      await session.run('drop function break_marks')
      await session.run('drop sequence broken_marks')
    },
  }
}
