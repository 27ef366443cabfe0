/**
 * Everything that people ask, of a fleet of a million deployments with thirty days of history (50,000 without --large): each answer within its
 * time, or refused at once; each page within a second; each duty done. Needs 25 GB of disk and half an hour with --large.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { openDatabase } from '../../../src/store/open.ts'
import { type Aims, askEverything } from '../harness/ask-everything.ts'
import type { Bench } from '../harness/bench.ts'
import { ask } from '../harness/clients/graphql.ts'
import { runDuties } from '../harness/duties.ts'
import type { Question } from '../harness/million-questions.ts'
import { loadPages } from '../harness/pages.ts'
import { startBenchPostgres } from '../harness/postgres.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { fleetShape, seedThirtyDays } from '../harness/thirty-days.ts'

/** Set before measuring. */
const aims: Aims = {
  filter: 150,
  pair: 150,
  'past count': 200,
  'past list': 500,
  series: 500,
  changes: 150,
  groups: 500,
  refusal: 150,
}

export const million: Bench = {
  name: 'million',
  title: 'each filter, pair, order, page and past of a large fleet; each page; each duty',
  async run(lab) {
    const database = await startBenchPostgres(['shared_preload_libraries=pg_stat_statements', 'shared_buffers=1GB'])
    const url = await database.create('million')
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    let server: Program | null = null
    try {
      const shape = fleetShape(lab.isLarge ? 1_000_000 : lab.isQuick ? 5_000 : 50_000)
      await seedThirtyDays((statement) => sql.unsafe(statement), shape, lab.say)
      await sql.unsafe('vacuum analyze')
      await sql.unsafe('create extension if not exists pg_stat_statements')
      server = await startRollcall({ DATABASE_URL: url })
      const endpoint = `${server.url}/graphql`
      const duties = await runDuties(server, lab)
      const touched = async (): Promise<number> => {
        const [row] = await sql<{ n: number }[]>`
          select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as n from pg_stat_statements`
        return row?.n ?? 0
      }
      const check = (question: Question, data: unknown) => checkCount(sql, question, data)
      const { claims, wrong, notes } = await askEverything(lab, { endpoint, aims, touched, check })
      const pages = await loadPages(server, notes)
      const [size] = await sql<{ size: string }[]>`select pg_size_pretty(pg_database_size(current_database())) as size`
      return {
        rows: [],
        claims: [...claims, ...pages],
        notes: [...duties, ...notes, `size of the database: ${size?.size}`],
        wrong: [...wrong, ...(await findDrift(endpoint))],
      }
    } finally {
      await server?.stop()
      await sql.end()
      await database.dispose()
    }
  },
}

export const hundredThousand: Bench = {
  name: 'embedded-fleet',
  title: 'the same questions of 100,000 deployments in the embedded database',
  async run(lab) {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
    const dataDir = join(folder, 'store')
    let server: Program | null = null
    try {
      const database = await openDatabase({ url: null, dataDir })
      const shape = fleetShape(lab.isQuick ? 5_000 : 100_000)
      await seedThirtyDays((statement) => database.session.run(statement), shape, lab.say)
      await database.session.run('vacuum analyze')
      await database.close()
      server = await startRollcall({ DATA_DIR: dataDir })
      const endpoint = `${server.url}/graphql`
      const duties = await runDuties(server, lab)
      const embedded = Object.fromEntries(Object.keys(aims).map((group) => [group, 300])) as Aims
      const asked = { endpoint, aims: embedded, touched: null, check: async () => null }
      const { claims, wrong, notes } = await askEverything(lab, asked)
      return { rows: [], claims, notes: [...duties, ...notes], wrong: [...wrong, ...(await findDrift(endpoint))] }
    } finally {
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Compares a count of a filter with one column with a count by hand. */
async function checkCount(sql: postgres.Sql, question: Question, data: unknown): Promise<string | null> {
  if (!question.name.endsWith(', count') || question.group !== 'filter') return null
  const { filter } = question.variables as { filter: Readonly<Record<string, readonly string[]>> }
  const [[field, values = []] = ['', []]] = Object.entries(filter)
  const conditions: Readonly<Record<string, () => postgres.PendingQuery<postgres.Row[]>>> = {
    states: () => sql`state::text = any (${values})`,
    errorCodes: () => sql`error->>'code' = any (${values})`,
    components: () => sql`exists (select from json_array_elements(components) c where c->>'name' = any (${values}))`,
  }
  const condition = conditions[field]?.()
  if (!condition) return null
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from deployments where ${condition}`
  const { totalCount } = (data as { deployments: { totalCount: number } }).deployments
  return totalCount === row?.n ? null : `${totalCount}, not ${row?.n}`
}

async function findDrift(endpoint: string): Promise<string[]> {
  const { audit } = await ask<{ audit: { drift: readonly object[] } }>(
    endpoint,
    '{ audit { drift { scope field counted recounted } } }',
  )
  return audit.drift.slice(0, 5).map((drift) => `drift: ${JSON.stringify(drift)}`)
}
