/**
 * Webhooks: every change that matches a filter, in order, as a CloudEvent 1.0 (structured JSON), signed as Standard Webhooks requires.
 * The webhook-id is the event's id, so a receiver can drop duplicates.
 */
import { createHmac } from 'node:crypto'
import type { Change } from '../../domain/change.ts'
import { type ChangeFilter, matchesChange } from '../../domain/nouns/change.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database, Session } from '../../store/database.ts'
import { visibleChanges, withScope } from '../../store/read/access-scope.ts'
import { readLog } from '../../store/read/changes/changes.ts'
import { resourcesByKey } from '../../store/read/orchestration/resources.ts'
import { type Delivery, noteDelivery, wantedDeliveries } from '../../store/sinks/deliveries.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import { describeChanges, wordOf } from './change-data.ts'
import { type Deliver, type Round, roundAt, type Turn } from './round.ts'
import { type OutgoingRequest, type PostResult, post, type Send } from './send.ts'

interface WebhookDeps {
  readonly database: Database
  readonly send: Send
  /** CloudEvents' source. */
  readonly source: string
  readonly clock: () => Millis
}

/** Revisions in one read. The number grows after a read without matches. */
const [fewest, most] = [200, 3_200]
/** Deliveries of a webhook that are kept for inspection and redelivery. */
const kept = 1_000

interface CloudEvent {
  readonly id: string
  readonly revision: Revision | null
  readonly body: string
}

export function createWebhookDeliver(deps: WebhookDeps): Deliver {
  const { session } = deps.database
  return async (sink, head, turn) => {
    const round = createRound(deps, sink, turn)
    for (const delivery of await wantedDeliveries(session, [sink.key]))
      if (!(await round.send(toEvent(delivery)))) return round.end()
    for (let step = fewest; round.cursor() < head && !turn.isOver(); ) {
      const changes = await readLog(session, round.cursor(), step)
      const tail = await endOfGap(session, round.cursor(), changes)
      if (tail !== null) {
        if (!(await round.send(resetEvent(deps, sink, round.cursor(), tail)))) return round.end()
        await round.moveTo(tail)
        continue
      }
      const wanted = await select(deps, sink, changes)
      if (!(await round.sendAll(await toEvents(deps, sink, wanted)))) return round.end()
      await round.moveTo(changes.at(-1)?.revision ?? head)
      step = wanted.length > 0 ? fewest : Math.min(step * 2, most)
    }
    return round.end()
  }
}

function createRound(deps: WebhookDeps, sink: Sink, turn: Turn) {
  let { cursor } = sink
  let status: number | null = null
  let error: string | null = null
  let isSent = false
  let isAccepted = false

  /** False: the receiver has not accepted the event, or the turn is over. The round ends where it is. */
  async function send(event: CloudEvent): Promise<boolean> {
    if (turn.isOver()) return false
    const outcome = await deliverEvent(deps, sink, event)
    status = outcome.status
    error = outcome.error
    isSent = true
    isAccepted ||= error === null
    return error === null
  }

  async function moveTo(revision: Revision): Promise<void> {
    cursor = revision
    await turn.reached(cursor)
  }

  return {
    cursor: () => cursor,
    send,
    moveTo,
    /** Moves to each event that was accepted. */
    async sendAll(events: readonly CloudEvent[]): Promise<boolean> {
      for (const event of events) {
        if (!(await send(event))) return false
        await moveTo(event.revision ?? cursor)
      }
      return true
    },
    end: (): Round => roundAt(cursor, { isSent, isAccepted, status, error }),
  }
}

/**
 * The tail of the log, if changes between the cursor and the tail are no longer kept: another epoch has begun, or retention has removed them. A
 * round may take longer than that.
 */
async function endOfGap(session: Session, cursor: Revision, [first]: readonly Change[]): Promise<Revision | null> {
  if (first?.revision === cursor + 1) return null
  const { tail } = await readHead(session)
  return cursor < tail ? tail : null
}

async function select(
  { database }: WebhookDeps,
  { filter }: Sink,
  changes: readonly Change[],
): Promise<readonly Change[]> {
  const { resourceKinds, ...others } = filter
  const isWanted = (change: Change): boolean => matchesChange(others, change)
  const reader = readerOf(database.session, filter)
  const matching = (await withoutOrigins(reader, changes.filter(isWanted))).filter(isWanted)
  if (!resourceKinds) return matching
  const keys = matching.flatMap(({ resourceKey }) => resourceKey ?? [])
  const resources = await resourcesByKey(database.session, keys, null)
  return matching.filter(
    ({ resourceKey }) => resourceKey === null || resourceKinds.includes(resources.get(resourceKey)?.kind ?? ''),
  )
}

/** A webhook that is limited to labels gets no name of a target without them. */
function readerOf(session: Session, { labels }: ChangeFilter): Session {
  return withScope(session, labels ? { labels, projects: null } : null)
}

/** Leaves out where a deployment ran before it moved to a target that the reader sees. */
async function withoutOrigins(reader: Session, changes: readonly Change[]): Promise<readonly Change[]> {
  if (changes.every(({ fromTargetKey }) => fromTargetKey === null)) return changes
  return (await visibleChanges(reader, changes)).flatMap(({ change }) => change ?? [])
}

async function toEvents(
  { database, source }: WebhookDeps,
  { filter }: Sink,
  changes: readonly Change[],
): Promise<CloudEvent[]> {
  if (changes.length === 0) return []
  const described = await describeChanges(database.session, changes, readerOf(database.session, filter))
  return changes.map((change, index) => {
    const { revision, at, kind, deploymentId, instanceId, targetName, traceparent } = change
    const subject = deploymentId ?? instanceId ?? targetName
    const id = String(revision)
    const type = `rollcall.${wordOf(kind)}`
    const body = eventBody({ id, source, type, subject, at, traceparent, data: described[index] })
    return { id, revision, body }
  })
}

/** The changes in between are no longer kept: the receiver asks for the present state instead. */
function resetEvent({ source, clock }: WebhookDeps, sink: Sink, from: Revision, to: Revision): CloudEvent {
  const id = `reset-${sink.key}-${to}`
  const data = { reason: 'CURSOR_EXPIRED', from: String(from), to: String(to) }
  return { id, revision: null, body: eventBody({ id, source, type: 'rollcall.reset', at: clock(), data }) }
}

function toEvent({ eventId, revision, body }: Delivery): CloudEvent {
  return { id: eventId, revision, body }
}

async function deliverEvent(
  { database, send, clock }: WebhookDeps,
  sink: Sink,
  { id, revision, body }: CloudEvent,
): Promise<PostResult> {
  const { status, error } = await post(send, webhookRequest(sink, { id, body }, clock()))
  await noteDelivery(
    database.session,
    { sinkKey: sink.key, eventId: id, revision, body, lastStatus: status, lastError: error },
    clock(),
    kept,
  )
  return { status, error }
}

/** A CloudEvent in the structured JSON format. */
export function eventBody(event: {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject?: string | null
  readonly at: Millis
  readonly traceparent?: string | null
  readonly data: unknown
}): string {
  const { id, source, type, subject = null, at, traceparent = null, data } = event
  return JSON.stringify({
    ...{ specversion: '1.0', id, source, type },
    ...(subject !== null && { subject }),
    time: new Date(at).toISOString(),
    ...(traceparent !== null && { traceparent }),
    datacontenttype: 'application/json',
    data,
  })
}

export function webhookRequest(
  { url, secret }: Pick<Sink, 'url' | 'secret'>,
  { id, body }: Pick<CloudEvent, 'id' | 'body'>,
  now: Millis,
): OutgoingRequest {
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8', ...signed(secret, id, body, now) }
  return { method: 'POST', url, headers, body }
}

/** Standard Webhooks: `v1,` + base64 HMAC-SHA256 of `id.timestamp.body` with the secret's bytes. */
export function signed(secret: string | null, id: string, body: string, now: Millis): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const ids = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === null) return ids
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...ids, 'webhook-signature': `v1,${signature}` }
}
