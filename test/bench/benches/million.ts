/**
 * Everything that people ask, of a fleet of a million deployments with thirty days of history (50,000 without --large): each answer within its
 * time, or refused at once; each page within a second; each duty done. Needs 25 GB of disk and half an hour with --large.
 */
import { existsSync } from 'node:fs'
import postgres from 'postgres'
import { findChromium, openPage, startBrowser } from '../../support/browser.ts'
import { atMost, type Bench, type Claim, type Lab, stated } from '../harness/bench.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { ask } from '../harness/graphql.ts'
import { type Question, questions } from '../harness/million-questions.ts'
import { startBenchPostgres } from '../harness/postgres.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { spread } from '../harness/statistics.ts'
import { fleetShape, seedThirtyDays } from '../harness/thirty-days.ts'

/** Milliseconds, warm, set before measuring. */
const aims: Readonly<Record<Question['group'], number>> = {
  filter: 150,
  pair: 150,
  'past count': 200,
  'past list': 500,
  series: 500,
  changes: 150,
  groups: 500,
}

interface Answer {
  readonly question: Question
  /** Milliseconds: the first time, and the quicker of two more. */
  readonly cold: number
  readonly warm: number
  /** Pages of tables and indexes that the database touched for the warm one. */
  readonly buffers: number
  /** Null: data. Otherwise the code of the error. */
  readonly refusal: string | null
}

export const million: Bench = {
  name: 'million',
  title: 'each filter, pair, order, page and past of a large fleet; each page; each duty',
  async run(lab) {
    const database = await startBenchPostgres(['shared_preload_libraries=pg_stat_statements', 'shared_buffers=1GB'])
    const url = await database.create('million')
    const shape = fleetShape(lab.isLarge ? 1_000_000 : lab.isQuick ? 5_000 : 50_000)
    lab.say(`  seeding ${shape.deployments} deployments`)
    await seedThirtyDays(url, shape, lab.say)
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    let server: Program | null = null
    try {
      await sql.unsafe('vacuum analyze')
      await sql.unsafe('create extension if not exists pg_stat_statements')
      server = await startRollcall({ DATABASE_URL: url })
      const notes: string[] = []
      const wrong: string[] = []
      const endpoint = `${server.url}/graphql`
      const { history } = await ask<{ history: { newestRevision: string } }>(endpoint, '{ history { newestRevision } }')
      notes.push(...(await runDuties(server, history.newestRevision, lab)))
      const moments = await readMoments(endpoint)
      const answers: Answer[] = []
      for (const question of questions(moments)) {
        const answer = await time(endpoint, question, sql)
        answers.push(answer)
        if (!isFine(answer)) lab.say(`  ${line(answer)}`)
        const problem = await check(endpoint, answer, sql)
        if (problem) wrong.push(`${question.name}: ${problem}`)
      }
      const claims: Claim[] = Object.entries(aims).map(([group, aim]) => {
        const times = answers
          .filter(({ question, refusal }) => question.group === group && refusal === null)
          .map(({ warm }) => warm)
        return worst(`${group}: the slowest of ${times.length} answers`, times, aim)
      })
      const refused = answers.filter(({ refusal }) => refusal !== null)
      claims.push(
        worst(
          `the slowest of ${refused.length} refusals`,
          refused.map(({ warm }) => warm),
          150,
        ),
      )
      notes.push(`${answers.filter(isFine).length} of ${answers.length} within their time`)
      notes.push(
        ...answers
          .toSorted((a, b) => b.warm - a.warm)
          .slice(0, 25)
          .map(line),
      )
      claims.push(...(await loadPages(server, notes)))
      const { audit } = await ask<{ audit: { drift: readonly object[] } }>(
        endpoint,
        '{ audit { drift { scope field counted recounted } } }',
      )
      wrong.push(...audit.drift.slice(0, 5).map((drift) => `drift: ${JSON.stringify(drift)}`))
      const [size] = await sql<{ size: string }[]>`select pg_size_pretty(pg_database_size(current_database())) as size`
      notes.push(`size of the database: ${size?.size}`)
      return { rows: [], claims, notes, wrong }
    } finally {
      await server?.stop()
      await sql.end()
      await database.dispose()
    }
  },
}

function isFine({ question, warm }: Answer): boolean {
  return warm <= aims[question.group]
}

function line({ question, cold, warm, buffers, refusal }: Answer): string {
  return `${question.name}: ${Math.round(warm)} ms (first ${Math.round(cold)} ms), ${buffers} buffers${refusal ? `, ${refusal}` : ''}`
}

function worst(of: string, times: readonly number[], aim: number): Claim {
  return times.length > 0
    ? atMost(of, { ...spread(times), median: Math.max(...times) }, aim, 'ms')
    : stated(of, spread([0]), 'ms')
}

async function readMoments(endpoint: string) {
  const data = await ask<{
    history: { oldestTime: string; newestTime: string }
    large: { id: string } | null
    small: { id: string } | null
  }>(
    endpoint,
    `{ history { oldestTime newestTime }
      large: rollout(key: { name: "fleet-wide" }) { id } small: rollout(key: { name: "app-7" }) { id } }`,
  )
  const { history, large, small } = data
  if (!large || !small) throw new Error('the seeded rollouts are missing')
  return {
    oldest: Date.parse(history.oldestTime),
    newest: Date.parse(history.newestTime),
    large: large.id,
    small: small.id,
  }
}

let nonce = 0

/** The answer is never one of the response cache. */
async function send(endpoint: string, { query, variables }: Pick<Question, 'query' | 'variables'>) {
  nonce += 1
  const began = performance.now()
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, variables, extensions: { nonce } }),
  })
  const body = (await response.json()) as {
    data?: unknown
    errors?: readonly { message: string; extensions?: { code?: string } }[]
  }
  const [error] = body.errors ?? []
  return {
    milliseconds: performance.now() - began,
    data: body.data,
    refusal: error ? `${error.extensions?.code}: ${error.message.slice(0, 90)}` : null,
  }
}

async function time(endpoint: string, question: Question, sql: postgres.Sql): Promise<Answer> {
  const cold = await send(endpoint, question)
  const before = await touched(sql)
  const second = await send(endpoint, question)
  const buffers = (await touched(sql)) - before
  const third = await send(endpoint, question)
  return {
    question,
    cold: cold.milliseconds,
    warm: Math.min(second.milliseconds, third.milliseconds),
    buffers,
    refusal: third.refusal,
  }
}

async function touched(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<
    { n: number }[]
  >`select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as n from pg_stat_statements`
  return row?.n ?? 0
}

/** Counts are compared with counts by hand where the filter has one column. */
async function check(endpoint: string, { question, refusal }: Answer, sql: postgres.Sql): Promise<string | null> {
  const { filter } = question.variables as {
    filter?: { states?: string[]; errorCodes?: string[]; components?: string[] }
  }
  if (refusal || !question.name.endsWith(', count') || question.group !== 'filter' || !filter) return null
  const [[field, values] = [], ...more] = Object.entries(filter)
  const where =
    field === 'states'
      ? sql`state::text = any (${values as string[]})`
      : field === 'components'
        ? sql`exists (select from json_array_elements(components) c where c->>'name' = any (${values as string[]}))`
        : field === 'errorCodes'
          ? sql`error->>'code' = any (${values as string[]})`
          : null
  if (!where || more.length > 0) return null
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from deployments where ${where}`
  const { data } = await send(endpoint, question)
  const { totalCount } = (data as { deployments: { totalCount: number } }).deployments
  return totalCount === row?.n ? null : `${totalCount}, not ${row?.n}`
}

interface Duty {
  readonly name: string
  readonly lastSuccess: string | null
  readonly seconds: number
  /** Null: it reads no log. */
  readonly cursor: string | null
}

/** Waits until each background duty has succeeded, and those that read the log have read all of it. */
async function runDuties(server: Program, head: string, lab: Lab): Promise<string[]> {
  const began = performance.now()
  for (;;) {
    const { duties } = (await (await fetch(`${server.url}/readyz?verbose`)).json()) as { duties: readonly Duty[] }
    const isDone =
      duties.length >= 5 &&
      duties.every(({ lastSuccess, cursor }) => lastSuccess && (cursor === null || Number(cursor) >= Number(head)))
    const seconds = Math.round((performance.now() - began) / 1000)
    if (isDone) {
      lab.say(`  every duty was done after ${seconds} s`)
      return duties.map((duty) => `duty ${duty.name}: last round ${duty.seconds.toFixed(2)} s`)
    }
    if (seconds > 1_800) throw new WrongAnswer(`duties are not done after half an hour: ${JSON.stringify(duties)}`)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
}

async function loadPages(server: Program, notes: string[]): Promise<Claim[]> {
  const program = findChromium()
  if (!program || !existsSync(program)) {
    notes.push('no Chromium: the pages were not loaded')
    return []
  }
  const browser = await startBrowser()
  const claims: Claim[] = []
  try {
    for (const [hash, content] of Object.entries(pages)) {
      const times: number[] = []
      let [requests, bytes] = [0, 0]
      const used = server.cpu()
      for (let round = 0; round < 3; round += 1) {
        const { page, close } = await openPage(browser, 'about:blank')
        const session = await page.context().newCDPSession(page)
        await session.send('Network.enable')
        ;[requests, bytes] = [0, 0]
        session.on('Network.dataReceived', ({ encodedDataLength }) => {
          bytes += encodedDataLength
        })
        session.on('Network.webSocketFrameReceived', ({ response }) => {
          bytes += response.payloadData.length
        })
        page.on('request', () => {
          requests += 1
        })
        const began = performance.now()
        await page.goto(`${server.url}/${hash}`)
        await page.getByText(content).first().waitFor()
        times.push(performance.now() - began)
        await page.waitForLoadState('networkidle')
        await close()
      }
      notes.push(
        `page ${hash}: ${Math.round(Math.min(...times))} ms, ${requests} requests, ${Math.round(bytes / 1000)} kB, ${((server.cpu() - used) / 3).toFixed(2)} s of the server`,
      )
      claims.push(worst(`page ${hash}: content`, [Math.min(...times)], 1_000))
    }
  } finally {
    await browser.close()
  }
  return claims
}

const pages = {
  '#/': 'deployments installed',
  '#/rollouts': 'fleet-wide',
  '#/deployments': 'deployments',
  '#/devices': 'devices',
  '#/device/edge-4': 'deployments',
  '#/resources': 'resources',
  '#/feed': 'changes since this page opened',
}
