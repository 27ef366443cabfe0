/** Notifications about an instance: k8splugin's status subscriptions, and so-cnf-adapter's calls for A&AI (docs/wire.md §3, §4). */

import { DomainError } from '../../../domain/errors.ts'
import type { Millis } from '../../../domain/values.ts'
import { parseInventoryOwner } from '../../../ingest/dialects/k8splugin/inventory-owner.ts'
import { parseSubscription } from '../../../ingest/dialects/k8splugin/subscription.ts'
import type { Announcements } from '../../../outlets/sinks/announce.ts'
import { callbackSettings } from '../../../outlets/sinks/callback.ts'
import { parseJson } from '../../../platform/body/json.ts'
import type { Database } from '../../../store/database.ts'
import { type InstanceRow, instanceById } from '../../../store/read/orchestration/instances.ts'
import { changeSink, createSink, deleteSink, listSinks, type Sink } from '../../../store/sinks/sinks.ts'
import { type Exchange, type Handler, type Methods, readBody, requireMediaType, sendJson } from '../exchange.ts'

export interface SubscriptionDeps {
  readonly database: Database
  /** The reason that a URL must not be called. Null: it may be called. */
  readonly refuseTarget: (url: string) => string | null
  /** Call it after a change of the configured sinks. */
  readonly sinksChanged: () => void
  readonly announce: Announcements['announce']
  readonly clock: () => Millis
}

const bodyLimit = 1 << 16

export function subscriptionMethods(
  deps: SubscriptionDeps,
  route:
    | { readonly of: 'subscriptions'; readonly instanceId: string }
    | { readonly of: 'subscription'; readonly instanceId: string; readonly subscription: string },
): Methods {
  const { instanceId } = route
  if (route.of === 'subscriptions')
    return operated({
      GET: async (exchange) => {
        const { key } = await requireInstance(deps.database, instanceId)
        sendJson(exchange, 200, (await listSinks(deps.database.session, ['CALLBACK'], key)).map(show))
      },
      POST: (exchange) => subscribe(deps, exchange, instanceId),
    })
  const { subscription } = route
  return operated({
    GET: async (exchange) => sendJson(exchange, 200, show(await find(deps, instanceId, subscription))),
    PUT: (exchange) => change(deps, exchange, instanceId, subscription),
    DELETE: async (exchange) => {
      const { key } = await find(deps, instanceId, subscription)
      await deleteSink(deps.database.session, key)
      exchange.response.writeHead(204).end()
    },
  })
}

/** Only operators may read and change subscriptions. */
function operated(handlers: Readonly<Record<string, Handler>>): Methods {
  return Object.fromEntries(
    Object.entries(handlers).map(([method, handle]) => [method, { access: 'operator of all', handle } as const]),
  )
}

async function subscribe(deps: SubscriptionDeps, exchange: Exchange, instanceId: string): Promise<void> {
  const { session } = deps.database
  const body = parseSubscription(await readJson(exchange), deps.refuseTarget, null)
  const { key: instanceKey, reportedState } = await requireInstance(deps.database, instanceId)
  if (reportedState === 'REMOVED') throw unknownInstance(instanceId)
  const { name, callbackUrl: url, secret = null, minNotifyInterval, metadata } = body
  const settings = { minNotifyInterval, metadata }
  const sink = await createSink(
    session,
    { kind: 'CALLBACK', name, instanceKey, url, secret, filter: {}, settings, cursor: 0 },
    deps.clock(),
  )
  deps.sinksChanged()
  sendJson(exchange, 201, show(sink))
}

async function change(
  deps: SubscriptionDeps,
  exchange: Exchange,
  instanceId: string,
  subscription: string,
): Promise<void> {
  const body = parseSubscription(await readJson(exchange), deps.refuseTarget, subscription)
  const { key } = await find(deps, instanceId, subscription)
  const { callbackUrl: url, secret, minNotifyInterval, metadata } = body
  const settings = { minNotifyInterval, metadata }
  const sink = await changeSink(deps.database.session, key, {
    url,
    settings,
    ...(secret === undefined ? {} : { secret }),
  })
  if (!sink) throw new DomainError('NOT_FOUND', `there is no subscription ${subscription}`)
  deps.sinksChanged()
  sendJson(exchange, 200, show(sink))
}

/** Keeps the inventory in step with the instance, until a call with `isEnding` stops it. */
export async function keepInventory(deps: SubscriptionDeps, exchange: Exchange, isEnding: boolean): Promise<void> {
  const { instanceId, ...place } = parseInventoryOwner(await readJson(exchange), deps.refuseTarget)
  await deps.announce(instanceId, place, isEnding)
  sendJson(exchange, 202, { instanceId })
}

function show(sink: Sink): object {
  const { minNotifyInterval, metadata } = callbackSettings(sink)
  return {
    name: sink.name,
    'min-notify-interval': minNotifyInterval,
    'last-update-time': new Date(sink.succeededAt ?? sink.createdAt).toISOString(),
    'callback-url': sink.url,
    'last-notify-time': sink.attemptedAt === null ? null : new Date(sink.attemptedAt).toISOString(),
    'last-notify-status': sink.lastStatus,
    metadata,
  }
}

async function requireInstance(database: Database, instanceId: string): Promise<InstanceRow> {
  const instance = await instanceById(database.session, instanceId, null)
  if (!instance) throw unknownInstance(instanceId)
  return instance
}

function unknownInstance(instanceId: string): DomainError {
  return new DomainError('NOT_FOUND', `there is no instance ${instanceId}`)
}

async function find({ database }: SubscriptionDeps, instanceId: string, name: string): Promise<Sink> {
  const { key } = await requireInstance(database, instanceId)
  const sink = (await listSinks(database.session, ['CALLBACK'], key)).find((one) => one.name === name)
  if (!sink) throw new DomainError('NOT_FOUND', `instance ${instanceId} has no subscription ${name}`)
  return sink
}

/** As in k8splugin, an empty body is a 400 and invalid JSON is a 422. */
async function readJson(exchange: Exchange): Promise<unknown> {
  requireMediaType(exchange.request, ['application/json'])
  const body = await readBody(exchange, bodyLimit)
  if (body.length === 0) throw new DomainError('INVALID_REQUEST', 'the body is empty')
  try {
    return parseJson(body)
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const problems = [{ field: 'body', message: 'must be valid JSON' }]
    throw new DomainError('SEMANTIC_ERROR', error.message, { problems })
  }
}
