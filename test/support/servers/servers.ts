/** Several servers on one database. A test can alter the messages between them. */
import { onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import type { WriterOptions } from '../../../src/ingest/writer-state.ts'
import type { Database, Mail } from '../../../src/store/database.ts'
import { report } from '../clients/reports.ts'
import type { EmptyStore, Store } from '../databases/stores.ts'
import { createRoad, type Road } from './road.ts'

export type Meddle = (mail: Mail) => Mail

export const untouched: Meddle = (mail) => mail
export const isBatch = (message: string): boolean => !message.startsWith('{')

export async function openEmpty(store: Store): Promise<EmptyStore> {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  return empty
}

/** A server: the one whose name is first in the alphabet writes for the others. */
export async function openServer(
  empty: EmptyStore,
  name: string,
  meddle: Meddle = untouched,
  writer: Partial<WriterOptions> = {},
  alter: (database: Database) => Database = (database) => database,
): Promise<Road> {
  const database = alter(await empty.open())
  const mail = database.mail && meddle(database.mail)
  const road = await createRoad({ ...database, mail } satisfies Database, { writer: { name, ...writer } })
  onTestFinished(() => road.close())
  return road
}

export const change = (device: string, state: 'INSTALLING' | 'INSTALLED'): ReturnType<typeof recordReport> =>
  recordReport(report({ reporter: device, deploymentId: `of-${device}`, state }))

/** Both write, until `server` has found out who writes for it. */
export async function meet(leader: Road, server: Road): Promise<void> {
  for (const state of ['INSTALLING', 'INSTALLED'] as const)
    for (const [device, road] of [
      ['follower', server],
      ['leader', leader],
    ] as const)
      await road.writer.submit(change(device, state))
  await server.writer.submit(change('follower', 'INSTALLING'))
}

export async function newestWriter({ database }: Road): Promise<string | undefined> {
  const [head] = await database.session.run<{ writer: string }>(
    `select split_part(stamp, '/', 1) as writer from log_head`,
  )
  return head?.writer
}

export async function keptReports({ database }: Road, device: string): Promise<number> {
  const kept = 'select 1 from reports r join deployments d on d.key = r.deployment_key where reporter = $1'
  return (await database.session.run(kept, [device])).length
}
