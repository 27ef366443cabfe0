/**
 * A server that is configured to keep a fifth of a log: how long it takes until the rest is gone, and how long a report takes meanwhile, beside the same
 * time without. The log has a million entries, and (with --large) ten million.
 */
import postgres from 'postgres'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { dividePartition, listPartitions, partitionedTables } from '../../../src/store/write/partitions.ts'
import { atLeast, atMost, type Bench, slowest, stated } from '../harness/bench.ts'
import { ask } from '../harness/clients/graphql.ts'
import { openConnections } from '../harness/clients/http-connection.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { buildReports, createFleet } from '../harness/fleet.ts'
import { longLog, seedLongLog } from '../harness/long-log.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { spread } from '../harness/statistics.ts'

const deployments = 20_000
/** Of the 25 that the log has. What has expired is kept up to an eighth longer. */
const keptDays = 5
/** One for each day of the log, as the duty `partitions` would have made them. */
const partitions = 25
const reporting = 8
/** Milliseconds between the reports of a connection. */
const pause = 50

export const expiry: Bench = {
  name: 'expiry',
  title: 'a log of which four fifths expire, while devices report',
  async run(lab) {
    const database = await lab.postgres()
    const size = lab.isLarge ? 10_000_000 : 1_000_000
    const url = await database.create('expiry')
    await dividePast(url, size)
    await seedLongLog(url, longLog(deployments, size), lab.say)
    let server = await startRollcall({ DATABASE_URL: url })
    try {
      await runDuties(server, lab)
      const full = await bytesOf(url)
      const bare = await reportUntil(server, seconds(60))
      await server.stop()
      const began = performance.now()
      server = await startRollcall({ DATABASE_URL: url, HISTORY_DAYS: String(keptDays) })
      const meanwhile = await reportUntil(server, () => isExpired(server, url))
      const took = (performance.now() - began) / 1_000
      const left = (await bytesOf(url)) / full
      lab.say(
        `  ${size} entries: ${Math.round(full / 1e6)} MB, and ${Math.round(left * 100)} % of it after ${Math.round(took)} s`,
      )
      return {
        rows: [],
        claims: [
          stated('seconds until four fifths are gone, and their files', spread([took]), 's'),
          atMost('bytes left', spread([left]), 0.35),
          slowest('longest report meanwhile', [meanwhile.longest], 500),
          stated('longest report without', spread([bare.longest]), 'ms'),
          atLeast('reports a second meanwhile ÷ without', spread([meanwhile.rate / bare.rate]), 0.8),
        ],
        notes: [],
        wrong: [],
      }
    } finally {
      await server.stop()
      await database.drop('expiry')
    }
  },
}

async function dividePast(url: string, size: number): Promise<void> {
  const database = await openDatabase({ url, dataDir: 'memory' })
  try {
    const { revision } = await readHead(database.session)
    const log = partitionedTables.find(({ name }) => name === 'change_log')
    for (let day = 1; log && day < partitions; day += 1) {
      const last = (await listPartitions(database.session, log.name)).at(-1)
      if (last) await dividePartition(database, log, last, revision + 1 + Math.round((day * size) / partitions))
    }
  } finally {
    await database.close()
  }
}

function seconds(count: number): () => boolean {
  const end = performance.now() + count * 1_000
  return () => performance.now() > end
}

/** Reports until `isOver`, which is asked each second. */
async function reportUntil(server: Program, isOver: () => boolean | Promise<boolean>) {
  const connections = await openConnections(server.port, reporting)
  const fleet = createFleet(buildReports(1_000), reporting)
  const began = performance.now()
  let [isDone, longest, acknowledged] = [false, 0, 0]
  const reported = Promise.all(
    connections.map(async (connection, index) => {
      while (!isDone) {
        const asked = performance.now()
        const answer = await connection.send(fleet.next(index))
        longest = Math.max(longest, performance.now() - asked)
        const problem = answer.status === 201 ? null : fleet.check(index, answer)
        if (problem) throw new WrongAnswer(problem)
        acknowledged += 1
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }),
  )
  reported.catch(() => (isDone = true))
  while (!isDone && !(await isOver())) await new Promise((resolve) => setTimeout(resolve, 1_000))
  isDone = true
  await reported
  for (const connection of connections) connection.close()
  return { longest, rate: acknowledged / ((performance.now() - began) / 1_000) }
}

/** Whether the oldest entry is kept for at most an eighth longer than it must be, and all older partitions are dropped. */
async function isExpired({ url }: Program, database: string): Promise<boolean> {
  const { history } = await ask<{ history: { oldestTime: string | null } }>(
    `${url}/graphql`,
    '{ history { oldestTime } }',
  )
  const age = (Date.now() - Date.parse(history.oldestTime ?? '')) / 86_400_000
  return age < keptDays * 1.13 && (await oldestDays(database)) < keptDays * 1.13
}

/** Of the rows that are still stored. */
async function oldestDays(url: string): Promise<number> {
  const [row] = await asking(
    url,
    'select extract(epoch from now() - at)::float8 / 86400 as value from change_log order by first_revision limit 1',
  )
  return row?.value ?? 0
}

/** Of the log, with its indexes. */
async function bytesOf(url: string): Promise<number> {
  const [row] = await asking(
    url,
    `select sum(pg_total_relation_size(inhrelid))::float8 as value from pg_inherits where inhparent = 'change_log'::regclass`,
  )
  return row?.value ?? 0
}

async function asking(url: string, text: string): Promise<readonly { readonly value: number }[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe<{ value: number }[]>(text)
  } finally {
    await sql.end()
  }
}
