/** What tenants are sent while a play runs: subscriptions, live states and webhooks. */
import { expect } from 'vitest'
import { encodeNodeId } from '../../../src/api/graphql/objects/node.ts'
import { createAddressRule } from '../../../src/outlets/sinks/address-rule.ts'
import { createSend } from '../../../src/outlets/sinks/send.ts'
import { createWebhookDeliver } from '../../../src/outlets/sinks/webhook.ts'
import { createSink } from '../../../src/store/sinks/sinks.ts'
import type { Stream, transports } from '../../graphql/clients.ts'
import type { Api } from '../../graphql/harness.ts'
import type { Receiver } from '../../support/systems/receiver.ts'
import type { Tenant, ToldChange, ToldOf } from './tenant-model.ts'
import { type Answered, documents, showChange } from './tenant-shown.ts'

export const viewer = (tenant: Tenant): string => `viewer/label:site=${tenant}`

/** `keys`: of the rollouts, by their names. */
function conditionOf({ devices, rollouts }: ToldOf, keys: ReadonlyMap<string, number>) {
  const rolloutKeys = rollouts?.map((name) => keys.get(name) ?? 0)
  return { ...(devices && { deviceIds: devices }), ...(rolloutKeys && { rolloutKeys }) }
}

/** Of the API. */
export function filterOf(of: ToldOf, keys: ReadonlyMap<string, number>): object {
  const { rolloutKeys, ...rest } = conditionOf(of, keys)
  return rolloutKeys ? { ...rest, rolloutIds: rolloutKeys.map((key) => encodeNodeId('Rollout', key, null)) } : rest
}

export interface Live {
  readonly tenant: Tenant
  readonly of: ToldOf
  readonly expected: ToldChange[]
  told(): readonly ToldChange[]
  close(): Promise<void>
}

/** A state merges changes, and nothing says when it has all of them: each change that it names must have been its tenant's once. */
export interface Watcher {
  readonly tenant: Tenant
  readonly of: ToldOf
  readonly allowed: Set<string>
  told(): readonly ToldChange[]
  close(): Promise<void>
}

export function follow(
  api: Api,
  transport: (typeof transports)[number],
  tenant: Tenant,
  of: ToldOf,
  keys: ReadonlyMap<string, number>,
  base: number,
): Live {
  const variables = { after: String(base), filter: filterOf(of, keys) }
  const stream = transport.watch(api.url, documents.changes, variables, viewer(tenant))
  const told = collect(stream, ({ changes }) => (changes.change ? [showChange(changes.change)] : []))
  return { tenant, of, expected: [], told, close: () => stream.close() }
}

export function watch(stream: Stream, tenant: Tenant, of: ToldOf): Watcher {
  const told = collect(stream, ({ deployment, rollout }) => (deployment ?? rollout).changes.map(showChange))
  return { tenant, of, allowed: new Set(), told, close: () => stream.close() }
}

export async function notify(
  api: Api,
  receiver: Receiver,
  tenant: Tenant,
  of: ToldOf,
  keys: ReadonlyMap<string, number>,
  cursor: number,
): Promise<Live> {
  const filter = { labels: [{ key: 'site', value: tenant }], ...conditionOf(of, keys) }
  const sink = {
    kind: 'WEBHOOK',
    name: `${tenant} ${JSON.stringify(of)}`,
    instanceKey: null,
    secret: null,
    settings: {},
  } as const
  await createSink(api.road.database.session, { ...sink, url: receiver.url, filter, cursor }, Date.now())
  const told = (): ToldChange[] => receiver.received.map(({ body }) => showChange(body.data))
  return { tenant, of, expected: [], told, close: async () => {} }
}

export function webhook({ road: { database } }: Api) {
  const send = createSend(createAddressRule(['127.0.0.1']), 10_000)
  return createWebhookDeliver({ database, send, source: 'http://rollcall', clock: Date.now })
}

export const notHere = (): never => expect.unreachable()

function collect(stream: Stream, of: (data: Answered) => ToldChange[]): () => readonly ToldChange[] {
  const told: ToldChange[] = []
  let failure: unknown = null
  const read = async (): Promise<void> => {
    for (let result = await stream.next(); result; result = await stream.next()) {
      if (result.errors) throw new Error(JSON.stringify(result.errors))
      told.push(...of(result.data))
    }
  }
  read().catch((error: unknown) => {
    failure = error
  })
  return () => {
    if (failure) throw failure
    return told
  }
}
