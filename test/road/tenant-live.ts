/** What tenants are sent while a play runs: subscriptions, live states and webhooks. */
import { expect } from 'vitest'
import { createAddressRule } from '../../src/sinks/address-rule.ts'
import { createSend } from '../../src/sinks/send.ts'
import { createWebhookDeliver } from '../../src/sinks/webhook.ts'
import { createSink } from '../../src/store/sinks/sinks.ts'
import type { Stream, transports } from '../graphql/clients.ts'
import type { Api } from '../graphql/harness.ts'
import type { Receiver } from '../support/receiver.ts'
import type { Tenant, ToldChange } from './tenant-model.ts'
import { type Answered, documents, showChange } from './tenant-shown.ts'

export const viewer = (tenant: Tenant): string => `viewer/label:site=${tenant}`
export const filterOf = (devices: readonly string[] | null): object => (devices === null ? {} : { deviceIds: devices })

export interface Live {
  readonly tenant: Tenant
  readonly devices: readonly string[] | null
  readonly expected: ToldChange[]
  told(): readonly ToldChange[]
  close(): Promise<void>
}

/** A state merges what it was told, and nothing says when it has told all: each change that it names must have been its tenant's once. */
export interface Watcher {
  readonly tenant: Tenant
  readonly allowed: Set<string>
  told(): readonly ToldChange[]
  close(): Promise<void>
}

export function follow(
  api: Api,
  transport: (typeof transports)[number],
  tenant: Tenant,
  devices: readonly string[] | null,
  base: number,
): Live {
  const variables = { after: String(base), filter: filterOf(devices) }
  const stream = transport.watch(api.url, documents.changes, variables, viewer(tenant))
  const told = collect(stream, ({ changes }) => (changes.change ? [showChange(changes.change)] : []))
  return { tenant, devices, expected: [], told, close: () => stream.close() }
}

export function watch(stream: Stream, tenant: Tenant): Watcher {
  const told = collect(stream, ({ deployment, rollout }) => (deployment ?? rollout).changes.map(showChange))
  return { tenant, allowed: new Set(), told, close: () => stream.close() }
}

export async function notify(
  api: Api,
  receiver: Receiver,
  tenant: Tenant,
  devices: readonly string[] | null,
  cursor: number,
): Promise<Live> {
  const filter = { labels: [{ key: 'site', value: tenant }], ...filterOf(devices) }
  const sink = { kind: 'WEBHOOK', name: `${tenant} ${devices}`, instanceKey: null, secret: null, settings: {} } as const
  await createSink(api.road.database.session, { ...sink, url: receiver.url, filter, cursor }, Date.now())
  const told = (): ToldChange[] => receiver.received.map(({ body }) => showChange(body.data))
  return { tenant, devices, expected: [], told, close: async () => {} }
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
