/**
 * Status subscriptions of instances (docs/wire.md §3). A call has the changes of an instance's resources since the last call. The first call
 * has all resources as created. Changes of volatile metadata alone are ignored. Unlike ONAP's, a call can be signed with a secret.
 */
import { createHmac } from 'node:crypto'
import type { Millis } from '../../domain/values.ts'
import type { Database } from '../../store/database.ts'
import { instancesByKey } from '../../store/read/orchestration/instances.ts'
import { marksOf, writeMarks } from '../../store/sinks/sink-marks.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import { differenceOf, type PresentResource, readPresent } from './reconcile.ts'
import { type Deliver, roundAt } from './round.ts'
import { post, type Send } from './send.ts'

interface CallbackDeps {
  readonly database: Database
  readonly send: Send
  readonly clock: () => Millis
}

interface CallbackSettings {
  /** Seconds. */
  readonly minNotifyInterval: number
  readonly metadata: unknown
}

export function callbackSettings({ settings }: Sink): CallbackSettings {
  const { minNotifyInterval = 0, metadata = null } = settings as Partial<CallbackSettings>
  return { minNotifyInterval, metadata }
}

export function createCallbackDeliver({ database, send, clock }: CallbackDeps): Deliver {
  return async (sink) => {
    const instanceKey = sink.instanceKey ?? 0
    const snapshot = await database.snapshot()
    const [present, known, instances] = await Promise.all([
      readPresent(snapshot, instanceKey, () => true),
      marksOf(snapshot, sink.key),
      instancesByKey(snapshot, [instanceKey], null),
    ]).finally(() => snapshot.close())
    const { created, modified, deleted, marks } = differenceOf(present.resources, known, describe, withoutNoise)
    const { minNotifyInterval, metadata } = callbackSettings(sink)
    const isQuiet = created.length + modified.length + deleted.length === 0
    const remember = (): Promise<void> =>
      writeMarks(
        database.session,
        sink.key,
        marks,
        deleted.map(({ resourceKey }) => resourceKey),
      )
    if (isQuiet && sink.succeededAt !== null) {
      await remember()
      return roundAt(present.revision)
    }
    const body = JSON.stringify({
      'instance-id': instances.get(instanceKey)?.instanceId,
      'subscription-name': sink.name,
      metadata,
      'resource-changes': { created, modified, deleted: deleted.map(({ told }) => ({ ...told, status: {} })) },
    })
    const headers = { 'content-type': 'application/json', ...signature(sink.secret, body) }
    const { status, error } = await post(send, { method: 'POST', url: sink.url, headers, body })
    if (error !== null) return roundAt(sink.cursor, { isSent: true, status, error })
    await remember()
    const nextAt = clock() + minNotifyInterval * 1000
    return roundAt(present.revision, { isSent: true, isAccepted: true, status, nextAt })
  }
}

function describe({ resource, detail }: PresentResource) {
  const { group: Group, version: Version, kind: Kind } = resource
  return { name: resource.name, GVK: { Group, Version, Kind }, status: detail ?? {} }
}

/** Omits the fields that Kubernetes changes with every write. They alone cause no call. */
function withoutNoise(description: ReturnType<typeof describe>): unknown {
  const { status } = description
  if (typeof status !== 'object' || status === null || !('metadata' in status)) return description
  const { resourceVersion, managedFields, generation, ...metadata } = {
    ...(status.metadata as object | null),
  } as Readonly<Record<string, unknown>>
  return { ...description, status: { ...status, metadata } }
}

function signature(secret: string | null, body: string): Record<string, string> {
  if (secret === null) return {}
  return { 'x-rollcall-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` }
}
