/** Operations on sinks. The replica that holds a sink notices a change within a round, this replica immediately. */
import { randomBytes } from 'node:crypto'
import { DomainError, type FieldProblem } from '../../domain/errors.ts'
import { oldestRetained, type Revision } from '../../domain/values.ts'
import { readRange } from '../../store/connection/log-head.ts'
import type { Database } from '../../store/database.ts'
import { type Delivery, wantDelivery } from '../../store/sinks/deliveries.ts'
import { changeSink, createSink, deleteSink, type Sink, sinksByKey } from '../../store/sinks/sinks.ts'
import type { SinkFilter } from '../../store/tables/sinks.ts'
import { type Announcements, createAnnouncements } from './announce.ts'
import type { PostResult } from './send.ts'
import type { SendTest } from './test-message.ts'

/** Where a sink sends to. Absent and empty values have no problem. */
interface SinkTarget {
  readonly url?: string | null | undefined
  readonly secret?: string | null | undefined
}

export interface SinkManager extends Announcements {
  /** What is wrong with the URL, and with the secret of a webhook. The other functions throw the same. */
  targetProblems(target: SinkTarget): readonly FieldProblem[]
  /** `after` null: from now on. The secret is returned only here. */
  createWebhook(webhook: {
    readonly name: string
    readonly url: string
    readonly secret: string | null
    readonly filter: SinkFilter
    readonly after: Revision | null
  }): Promise<{ readonly sink: Sink; readonly secret: string }>
  /** `url`: its base address. `authorization`: the value of the header. */
  createAlertmanager(alertmanager: {
    readonly name: string
    readonly url: string
    readonly authorization: string | null
  }): Promise<Sink>
  changeWebhook(
    key: number,
    change: { readonly name?: string; readonly url?: string; readonly secret?: string; readonly filter?: SinkFilter },
  ): Promise<Sink>
  pause(key: number, paused: boolean): Promise<Sink>
  remove(key: number): Promise<Sink>
  redeliver(deliveryKey: number): Promise<Delivery>
  /** Sends a test message at once, also to a paused sink. Its position does not change. */
  test(key: number): Promise<PostResult & { readonly sink: Sink }>
}

interface ManagerDeps {
  readonly database: Database
  readonly refuseTarget: (url: string) => string | null
  readonly refresh: () => void
  readonly sendTest: SendTest
  readonly clock: () => number
  /** Absent: no inventory is configured. */
  readonly hasInventory?: boolean
}

export function createSinkManager(deps: ManagerDeps): SinkManager {
  const { database, refuseTarget, refresh, sendTest, clock, hasInventory = false } = deps
  const { session } = database
  const missing = (field: string, what: string): DomainError =>
    new DomainError('NOT_FOUND', `there is no such ${what}`, { problems: [{ field, message: `names no ${what}` }] })
  function targetProblems({ url, secret }: SinkTarget): FieldProblem[] {
    const refused = url ? refuseTarget(url) : null
    return [
      ...(refused === null ? [] : [{ field: 'url', message: refused }]),
      ...(!secret || isSecret(secret)
        ? []
        : [{ field: 'secret', message: 'must be whsec_ and 24 to 64 bytes in base64' }]),
    ]
  }
  const requireTarget = (target: SinkTarget): void => {
    const problems = targetProblems(target)
    const [first] = problems
    if (first) throw new DomainError('BAD_USER_INPUT', `${first.field} ${first.message}`, { problems })
  }
  const requireWebhook = async (key: number): Promise<void> => {
    if ((await sinksByKey(session, [key])).get(key)?.kind !== 'WEBHOOK') throw missing('id', 'webhook')
  }

  return {
    ...createAnnouncements({ database, hasInventory, refuseTarget, refresh, clock }),
    targetProblems,
    async createWebhook({ name, url, secret: given, filter, after }) {
      requireTarget({ url, secret: given })
      const { head, tail } = await readRange(session)
      const cursor = after === oldestRetained ? tail : (after ?? head.revision)
      if (cursor < tail || cursor > head.revision)
        throw new DomainError('BAD_USER_INPUT', `after must be a revision from ${tail} to ${head.revision}`, {
          problems: [{ field: 'after', message: 'is not a revision that is kept' }],
        })
      const secret = given ?? `whsec_${randomBytes(32).toString('base64')}`
      const sink = await createSink(
        session,
        { kind: 'WEBHOOK', name, instanceKey: null, url, secret, filter, settings: {}, cursor },
        clock(),
      )
      refresh()
      return { sink, secret }
    },
    async createAlertmanager({ name, url, authorization }) {
      requireTarget({ url })
      const { head } = await readRange(session)
      const target = { name, url, secret: authorization, instanceKey: null, filter: {}, settings: {} }
      const sink = await createSink(session, { kind: 'ALERTMANAGER', ...target, cursor: head.revision }, clock())
      refresh()
      return sink
    },
    async changeWebhook(key, change) {
      requireTarget(change)
      await requireWebhook(key)
      const sink = await changeSink(session, key, change)
      if (!sink) throw missing('id', 'webhook')
      refresh()
      return sink
    },
    async pause(key, paused) {
      const sink = await changeSink(session, key, { paused })
      if (!sink) throw missing('id', 'sink')
      refresh()
      return sink
    },
    async remove(key) {
      const sink = await deleteSink(session, key)
      if (!sink) throw missing('id', 'sink')
      refresh()
      return sink
    },
    async redeliver(deliveryKey) {
      const delivery = await wantDelivery(session, deliveryKey)
      if (!delivery) throw missing('deliveryId', 'delivery')
      refresh()
      return delivery
    },
    async test(key) {
      const sink = (await sinksByKey(session, [key])).get(key)
      if (!sink) throw missing('id', 'sink')
      return { sink, ...(await sendTest(sink)) }
    },
  }
}

function isSecret(secret: string): boolean {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  const bytes = encoded === undefined ? 0 : Buffer.from(encoded, 'base64').length
  return bytes >= 24 && bytes <= 64
}
