/** Servers with a fleet and subscribers, on a PostgreSQL that Patroni leads. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import { type Fleet, startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { findPostgres } from '../../support/databases/postgres-server.ts'
import { allRevisions, expectKept, expectSound } from '../../support/databases/soundness.ts'
import { startProgram } from '../../support/servers/program.ts'
import { type PatroniCluster, type PatroniOptions, startPatroni } from '../../support/systems/patroni.ts'

const devices = 20
/** Milliseconds between two reports of a device. */
const pause = 50

export const wait = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time))

export async function startCluster(options: PatroniOptions): Promise<PatroniCluster> {
  const cluster = await startPatroni(options)
  onTestFinished(() => cluster.dispose())
  const leader = await cluster.leader()
  const sql = postgres(leader.url, { max: 1 })
  await sql`create table probes (at timestamptz)`
  await sql.end()
  return cluster
}

interface Server {
  readonly env: Readonly<Record<string, string>>
  /** Before its command. */
  readonly prefix?: readonly string[]
}

/** Every second device reports to the second server. */
export async function startServers(of: readonly [Server, Server]) {
  const programs = of.map(({ env, prefix }) => startProgram(env, prefix))
  onTestFinished(async () => void (await Promise.all(programs.map((program) => program.dispose()))))
  const [one = expect.unreachable(), two = expect.unreachable()] = programs
  const first = await (await fetch(`${await one.listening}/graphql?query={revision}`)).json()
  const begin = Number((first as { data: { revision: string } }).data.revision)
  const subscribers = programs.map((program) => subscribe(() => program.listening, begin))
  /** Of each server. */
  const acknowledgedAt: readonly number[][] = [[], []]
  const fleet = startFleet(devices, (device) => {
    const send = sendOver(() => (device % 2 ? two : one).listening)
    return async (said) => {
      await wait(pause)
      const outcome = await send(said)
      if (outcome) acknowledgedAt[device % 2]?.push(performance.now())
      return outcome
    }
  })
  return { programs, begin, subscribers, fleet, acknowledgedAt }
}

/** Whether a commit through this address is on the disk of its node, and of the synchronous standby. */
export async function takesWrites(url: string): Promise<boolean> {
  const env = { ...process.env, PGCONNECT_TIMEOUT: '1', PGOPTIONS: '-c statement_timeout=1000' }
  const args = ['-qc', 'insert into probes values (now())', url]
  const psql = spawn(join(findPostgres() ?? '', 'psql'), args, { env, stdio: 'ignore' })
  const late = setTimeout(() => psql.kill('SIGKILL'), 1_000)
  const [code] = await once(psql, 'exit')
  clearTimeout(late)
  return code === 0
}

/** When a plain client can write again through one of these addresses, and how long it takes afterwards. Milliseconds. */
export async function writableAt(urls: readonly string[]): Promise<{ readonly at: number; readonly takes: number }> {
  const attempt = async (url: string): Promise<true> => (await takesWrites(url)) || Promise.reject(new Error('no'))
  const write = (): Promise<boolean> => Promise.any(urls.map(attempt)).catch(() => false)
  while (!(await write())) await wait(20)
  const at = performance.now()
  await write()
  return { at, takes: performance.now() - at }
}

/** What was acknowledged is kept, once, and each subscriber has got every revision. A promotion begins an epoch, whose revisions follow at a distance. */
export async function expectNothingMissed(
  { hosts }: PatroniCluster,
  { begin, subscribers, fleet }: Awaited<ReturnType<typeof startServers>>,
): Promise<void> {
  const played = await fleet.finish()
  const database = await openDatabase({ url: hosts, dataDir: 'memory' })
  onTestFinished(() => database.close())
  await expectKept(database, played)
  await expectSound(database)
  const expected = (await allRevisions(database.session)).filter((revision) => revision > begin)
  for (const subscriber of subscribers) {
    await expect.poll(() => subscriber.revisions.at(-1)).toBe(expected.at(-1))
    await subscriber.leave()
    expect(subscriber.resets).toEqual([])
    expect(subscriber.revisions).toEqual(expected)
  }
}

export async function untilAcknowledged(fleet: Fleet, more: number): Promise<void> {
  const enough = fleet.acknowledged + more
  await expect.poll(() => fleet.acknowledged, { timeout: 120_000 }).toBeGreaterThan(enough)
}

/** How many milliseconds after this moment each server acknowledged a report. */
export function delaysAfter(moment: number, acknowledgedAt: readonly (readonly number[])[]): readonly number[] {
  return acknowledgedAt.map((times) => (times.find((at) => at > moment) ?? Number.POSITIVE_INFINITY) - moment)
}
