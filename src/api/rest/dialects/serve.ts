/** Serves the methods of dialects: access, body, writer and snapshot are the same for all. */

import type { Fact, Outcomes } from '../../../domain/orchestration/orchestrated-facts.ts'
import type { Principal } from '../../../domain/principal.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Command } from '../../../ingest/command.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../ingest/commands/bundle-instance.ts'
import { reportConnectivity } from '../../../ingest/commands/connectivity.ts'
import { recordActions } from '../../../ingest/commands/lifecycle-actions.ts'
import { reportResources, reportStateSnapshot } from '../../../ingest/commands/resources.ts'
import type {
  Callback,
  Callbacks,
  Methods as DialectMethods,
  Managing,
  Method,
  Recording,
  Showing,
} from '../../../ingest/dialects/dialect.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Announcements } from '../../../outlets/sinks/announce.ts'
import { callbackSettings } from '../../../outlets/sinks/callback.ts'
import type { BodyRule } from '../../../platform/body/rule.ts'
import type { Database } from '../../../store/database.ts'
import { withScope } from '../../../store/read/access-scope.ts'
import { changeSink, createSink, deleteSink, listSinks, type Sink } from '../../../store/sinks/sinks.ts'
import { type DeviceDeps, serveDevice } from '../devices/device-methods.ts'
import {
  type Exchange,
  type Methods,
  type Route,
  readBody,
  requireMediaType,
  searchOf,
  sendJson,
  tracedBy,
} from '../exchange.ts'
import { createStreamedJson } from '../streamed-json.ts'
import { type SnapshotDeps, withSnapshot } from '../with-snapshot.ts'
import { readersOf } from './readers.ts'

export interface DialectDeps extends Omit<DeviceDeps, 'admission'>, SnapshotDeps, CallbackDeps {
  readonly admission: DeviceDeps['admission'] & SnapshotDeps['admission']
  readonly writer: Writer
  readonly database: Database
  /** The reason that a URL must not be called. Null: it may be called. */
  readonly refuseTarget: (url: string) => string | null
  readonly announce: Announcements['announce']
}

export function serveMethods(deps: DialectDeps, methods: DialectMethods): Methods {
  const served: Record<string, Route> = {}
  for (const [name, method] of Object.entries(methods)) served[name] = { ...serve(deps, method), ...ruleOf(method) }
  return served
}

function ruleOf(method: Method): Pick<Route, 'media' | 'limit'> {
  const rule = 'format' in method ? method.format : 'body' in method ? method.body : null
  return rule === null ? {} : { media: rule.media, limit: rule.limit }
}

function serve(deps: DialectDeps, method: Method): Route {
  switch (method.does) {
    case 'record':
      return { access: 'reporter of all', handle: (exchange, principal) => record(deps, exchange, principal, method) }
    case 'show':
      return { access: method.access, handle: (exchange, principal) => show(deps, exchange, principal, method) }
    case 'manage':
      return { access: 'operator of all', handle: (exchange) => manage(deps, exchange, method) }
    default:
      return serveDevice(deps, method)
  }
}

async function record(
  { writer, database }: DialectDeps,
  exchange: Exchange,
  { name }: Principal,
  method: Recording,
): Promise<void> {
  const readers = readersOf(database.session)
  const reading = await method.read(await readBodyBy(exchange, method.body), readers)
  const outcome = await writer.submit(tracedBy(exchange, commandOf(reading.fact, name)))
  const { status, json } = await reading.answer(outcome, readers)
  sendJson(exchange, status, json)
}

export async function show(
  deps: SnapshotDeps,
  exchange: Exchange,
  principal: Principal,
  method: Showing,
): Promise<void> {
  const read = method.show(searchOf(exchange.request.url))
  const send = createStreamedJson(exchange)
  const json = await withSnapshot(deps, exchange.request, principal, async (snapshot) => {
    const shown = await read(readersOf(withScope(snapshot, principal.accessScope)))
    if ('json' in shown) return shown
    await send(shown.parts)
    return null
  })
  if (json) sendJson(exchange, 200, json.json)
}

async function manage(deps: DialectDeps, exchange: Exchange, method: Managing): Promise<void> {
  const { database, announce, refuseTarget: refuseUrl } = deps
  const context = { readers: readersOf(database.session), callbacks: createCallbacks(deps), announce, refuseUrl }
  const { status, json } = await method.manage(await readBodyBy(exchange, method.body), context)
  if (json) sendJson(exchange, status, json)
  else exchange.response.writeHead(status).end()
}

async function readBodyBy(exchange: Exchange, rule: BodyRule | null): Promise<unknown> {
  if (rule === null) return null
  requireMediaType(exchange.request, rule.media)
  return rule.parse(await readBody(exchange, rule.limit))
}

/** The command that writes a fact. `actor`: the name of the caller. */
function commandOf(fact: Fact, actor: string): Command<Outcomes[Fact['of']]> {
  switch (fact.of) {
    case 'actions':
      return recordActions(fact.rollout, fact.actions, actor)
    case 'resources':
      return reportResources(fact.rollout, fact.instanceId, fact.resources)
    case 'snapshot':
      return reportStateSnapshot(fact.rollout, fact.snapshot)
    case 'connectivity':
      return reportConnectivity(fact.target, fact.connectivity)
    case 'instance':
      return reportInstance(fact.instance)
    case 'objects':
      return reportInstanceStatus(fact.instanceId, fact.objects)
    case 'removal':
      return removeInstance(fact.instanceId)
  }
}

interface CallbackDeps {
  readonly database: Pick<Database, 'session'>
  /** Call it after a change of the configured sinks. */
  readonly sinksChanged: () => void
  readonly clock: () => Millis
}

/** Subscriptions by callbacks are sinks. */
function createCallbacks({ database: { session }, sinksChanged, clock }: CallbackDeps): Callbacks {
  return {
    of: async (instanceKey) => (await listSinks(session, ['CALLBACK'], instanceKey)).map(toCallback),
    async create(instanceKey, name, { url, secret = null, ...settings }) {
      const sink = { kind: 'CALLBACK', name, instanceKey, url, secret, filter: {}, settings, cursor: 0 } as const
      const created = await createSink(session, sink, clock())
      sinksChanged()
      return toCallback(created)
    },
    async change(key, { url, secret, ...settings }) {
      const sink = await changeSink(session, key, { url, settings, ...(secret === undefined ? {} : { secret }) })
      if (sink) sinksChanged()
      return sink && toCallback(sink)
    },
    delete: (key) => deleteSink(session, key),
  }
}

function toCallback(sink: Sink): Callback {
  return { ...sink, ...callbackSettings(sink) }
}
