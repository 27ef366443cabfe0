/**
 * What a page asks of a large fleet in one field, beside how it had to be asked before, and beside one statement by hand on the same tables:
 * a chart of 60 points over a stretch of the log, and the deployments in groups by their error. All three answers must be the same.
 */
import postgres from 'postgres'
import { atLeast, type Bench, type Finding, type Lab } from '../harness/bench.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { runDuties } from '../harness/duties.ts'
import { askFresh, oneAfterAnother } from '../harness/one-after-another.ts'
import { startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { fleetShape, seedThirtyDays } from '../harness/thirty-days.ts'

const deployments = 100_000
const points = 60
/** Changes of the stretch. */
const changes = 200_000
/** The largest document that the page sent. */
const aliases = 8

interface Asking {
  readonly sql: postgres.Sql
  readonly url: string
}

/** Each returns the answer in the same form. */
interface Ways {
  readonly ours: () => Promise<unknown>
  readonly before: () => Promise<unknown>
  readonly byHand: () => Promise<unknown>
}

export const series: Bench = {
  name: 'series',
  title: `counts at ${points} moments over ${changes.toLocaleString('en-US')} changes of ${deployments.toLocaleString('en-US')} deployments`,
  run: (lab) => compare(lab, 'series', waysOfSeries),
}

export const groups: Bench = {
  name: 'groups',
  title: `${deployments.toLocaleString('en-US')} deployments: those with an error, in groups by it`,
  run: (lab) => compare(lab, 'groups', waysOfGroups),
}

async function compare(lab: Lab, name: string, waysOf: (asking: Asking) => Promise<Ways>): Promise<Finding> {
  const database = await lab.postgres()
  const address = await database.create(name)
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    await seedThirtyDays((statement) => sql.unsafe(statement), fleetShape(lab.isQuick ? 20_000 : deployments), lab.say)
    await sql.unsafe('vacuum analyze')
    const server = await startRollcall({ DATABASE_URL: address })
    try {
      const notes = await runDuties(server, lab)
      const ways = await waysOf({ sql, url: `${server.url}/graphql` })
      const expected = JSON.stringify(await ways.byHand())
      const measure = (ask: () => Promise<unknown>) => (isWarmUp: boolean) => {
        const checked = async (): Promise<string | null> => {
          const answer = JSON.stringify(await ask())
          return answer === expected ? null : `${answer.slice(0, 300)} instead of ${expected.slice(0, 300)}`
        }
        return oneAfterAnother(checked, { server, database }, isWarmUp ? 0 : lab.seconds)
      }
      const samples = await interleave(
        { 'one field': measure(ways.ours), 'as before': measure(ways.before), 'SQL by hand': measure(ways.byHand) },
        lab.rounds,
      )
      return {
        rows: rowsOf(samples, 'answers/s'),
        claims: [
          atLeast('one field ÷ as before', ratio(samples['one field'], samples['as before']), 10),
          atLeast('one field ÷ SQL by hand', ratio(samples['one field'], samples['SQL by hand']), 0.5),
        ],
        notes,
        wrong: [],
      }
    } finally {
      await server.stop()
    }
  } finally {
    await sql.end()
    await database.drop(name)
  }
}

const states = ['pending', 'installing', 'installed', 'failed', 'removing', 'removed'] as const
type Counts = Readonly<Record<(typeof states)[number], number>>
const numbersOf = (counts: Counts): number[] => states.map((state) => counts[state])

async function waysOfSeries({ sql, url }: Asking): Promise<Ways> {
  const [row] = await sql<{ from: number; to: number }[]>`
    select extract(epoch from at)::float8 * 1000 as from, (select extract(epoch from at)::float8 * 1000 from log_head) as to
    from change_log where first_revision >= (select greatest(revision - ${changes}, tail + 10) from log_head) order by first_revision limit 1`
  if (!row) throw new WrongAnswer('the log is empty')
  const [from, to] = [Math.ceil(row.from), Math.floor(row.to)]
  const times = Array.from({ length: points }, (_, index) => Math.round(from + ((to - from) * index) / (points - 1)))
  const iso = (time: number): string => new Date(time).toISOString()
  const query = `{ deploymentCountsOverTime(from: "${iso(from)}", to: "${iso(to)}", points: ${points}) { counts { ${states.join(' ')} } } }`
  const chunks = times.flatMap((_, index) => (index % aliases === 0 ? [times.slice(index, index + aliases)] : []))
  const documents = chunks.map(
    (some) =>
      `{ ${some.map((time, index) => `p${index}: deploymentCounts(asOf: "${iso(time)}") { ${states.join(' ')} }`).join(' ')} }`,
  )
  return {
    async ours() {
      const data = await askFresh<{ deploymentCountsOverTime: { counts: Counts }[] }>(url, query)
      return data.deploymentCountsOverTime.map(({ counts }) => numbersOf(counts))
    },
    async before() {
      const answers = []
      for (const document of documents)
        answers.push(...Object.values(await askFresh<Record<string, Counts>>(url, document)))
      return answers.map(numbersOf)
    },
    async byHand() {
      const [head] = await sql<Counts[]>`select pending, installing, installed, failed, removing, removed from log_head`
      const moved = await sql<{ bucket: number; state: string; n: number }[]>`
        with entry as (
          select width_bucket(at, ${sql.array(times.map((time) => iso(time + 1)))}::timestamptz[]) as bucket, from_state, to_state
          from change_log where at >= ${iso(from + 1)}::timestamptz and (from_state is not null or to_state is not null))
        select bucket, lower(state::text) as state, sum(n)::int as n from (
          select bucket, to_state as state, count(*) as n from entry group by 1, 2
          union all select bucket, from_state, -count(*) from entry group by 1, 2) moves
        where state is not null group by 1, 2`
      const found: number[][] = []
      const counts = { ...(head ?? {}) } as Record<string, number>
      for (let index = points - 1; index >= 0; index -= 1) {
        found.unshift(states.map((state) => counts[state] ?? 0))
        for (const { bucket, state, n } of moved) if (bucket === index) counts[state] = (counts[state] ?? 0) - n
      }
      return found
    },
  }
}

interface Group {
  readonly key: string | null
  readonly detail: string | null
  readonly counts: { readonly total: number; readonly failed: number }
}

interface ListedError {
  readonly code: string
  readonly message: string
}

interface Row {
  readonly state: string
  readonly error: ListedError | null
  readonly components: readonly { readonly state: string; readonly error: ListedError | null }[]
}

/** Groups in the form that is compared. */
function compared(groups: Iterable<Group>): unknown {
  return [...groups]
    .map(({ key, detail, counts }) => [key, detail, counts.total, counts.failed])
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
}

const varying = '[A-Za-z0-9._:/@%+-]*[0-9][A-Za-z0-9._:/@%+-]*'

async function waysOfGroups({ sql, url }: Asking): Promise<Ways> {
  const query =
    '{ deploymentGroups(by: ERROR, first: 100, filter: { hasError: true }) { nodes { key detail counts { total failed } since changedAt components } } }'
  return {
    async ours() {
      const { deploymentGroups } = await askFresh<{ deploymentGroups: { nodes: Group[] } }>(url, query)
      return compared(deploymentGroups.nodes)
    },
    /** All rows with an error are read, and grouped by the client. */
    async before() {
      const groups = new Map<string, { key: string; detail: string; counts: { total: number; failed: number } }>()
      for (let after = '""', more = true; more; ) {
        const { deployments: page } = await askFresh<{
          deployments: { nodes: Row[]; pageInfo: { hasNextPage: boolean; endCursor: string } }
        }>(
          url,
          `{ deployments(first: 100, filter: { hasError: true }${after === '""' ? '' : `, after: ${after}`}) {
            nodes { state error { code message } components { state error { code message } } } pageInfo { hasNextPage endCursor } } }`,
        )
        for (const { state, error, components } of page.nodes) {
          const wrong = components.filter((component) => component.error)
          const { code = '', message = '' } =
            (wrong.find((component) => component.state === 'FAILED') ?? wrong[0])?.error ?? error ?? {}
          const detail = message.replaceAll(new RegExp(varying, 'g'), '#')
          const { counts } = groups.get(`${code} ${detail}`) ?? { counts: { total: 0, failed: 0 } }
          counts.total += 1
          counts.failed += state === 'FAILED' ? 1 : 0
          groups.set(`${code} ${detail}`, { key: code, detail, counts })
        }
        more = page.pageInfo.hasNextPage
        after = JSON.stringify(page.pageInfo.endCursor)
      }
      return compared(groups.values())
    },
    async byHand() {
      const rows = await sql<{ key: string | null; detail: string | null; total: number; failed: number }[]>`
        select error ->> 'code' as key, regexp_replace(error ->> 'message', ${varying}, '#', 'g') as detail, count(*)::int as total,
          (count(*) filter (where state = 'FAILED'))::int as failed, min(changed_at), max(changed_at), array_agg(distinct component)
        from (
          select d.state, d.changed_at, coalesce(c.error, d.error) as error, c.component from deployments d left join lateral (
            select e -> 'error' as error, e ->> 'name' as component from json_array_elements(d.components) e
            where e ->> 'error' is not null order by e ->> 'state' = 'FAILED' desc limit 1) c on true
          where d.forgotten_at is null and d.is_current and deployment_has_error(d.error, d.components)) found
        group by 1, 2 order by 3 desc limit 100`
      return compared(rows.map(({ key, detail, total, failed }) => ({ key, detail, counts: { total, failed } })))
    },
  }
}
