/** The deployments of a past revision (past.ts), as rows `d`. */
import { type SQL, sql } from 'drizzle-orm'
import { alias, type PgTable } from 'drizzle-orm/pg-core'
import { storableJson } from '../../domain/text.ts'
import { columnsOf } from '../sql/record-set.ts'
import { imageFields } from '../sql/rows.ts'
import { changeLog, deployments, pastDeployments } from '../tables/schema.ts'
import { d } from './filters/deployment-filter.ts'
import type { Past, Spanned } from './past.ts'

/** The present row that `d` was made from. */
export const present = alias(deployments, 'present')

const later = alias(changeLog, 'later')

/** The columns of a deployment: these fields from `image`, and the rest from its present row. */
const columnsFrom = (fields: readonly string[], image: (column: SQL) => SQL): SQL =>
  sql.join(
    columnsOf(deployments, () => true).map(([field, { name }]) => {
      const column = sql.raw(name)
      return sql`${fields.includes(field) ? image(column) : sql`${present}.${column}`} as ${column}`
    }),
    sql`, `,
  )

const formerColumns = columnsFrom(['key', ...imageFields], (column) => sql`former.${column}`)

/** Each column by its name: during an upgrade, a table may have columns that this version does not know. */
const namesIn = (table: PgTable, of: SQL): SQL =>
  sql.join(
    columnsOf(table, () => true).map(([, { name }]) => sql`${of}.${sql.raw(name)}`),
    sql`, `,
  )
const endedColumns = (of: SQL): SQL => namesIn(pastDeployments, of)

/** All columns of `d`, for a union. */
export const deploymentColumns: SQL = namesIn(deployments, sql`${d}`)

/** The state that SQL cannot compute, as a row of past_deployments. */
function selectSpanned({ image }: Spanned): SQL {
  return sql`select ${endedColumns(sql`image`)} from json_populate_record(null::past_deployments, ${image && storableJson(image)}::text::json) as image where image.key is not null`
}

/** `from … where …` of the rows `d` at that time, made from the present rows that match `which`. Includes forgotten ones. */
export function fromPast({ revision: asOf, spanned }: Past, which: SQL): SQL {
  const revision = sql`${asOf}::bigint`
  const isUnchanged = sql`${present.revision} <= ${revision}`
  const isSpanned = sql`${present.key} = ${spanned?.key ?? null}::bigint`
  const ended = sql`select ${endedColumns(sql`${pastDeployments}`)} from (
      select ${later.firstRevision} as revision from ${changeLog} ${later}
      where ${later.deploymentKey} = ${present.key} and ${later.resourceKey} is null and ${later.firstRevision} > ${revision} and ${present.revision} > ${revision}
      order by ${later.firstRevision} limit 1) as entry
    cross join lateral (select * from ${pastDeployments} where ${pastDeployments.until} = entry.revision offset 0) as ${pastDeployments}`
  const former = spanned
    ? sql`${ended} where not ${isSpanned} union all ${selectSpanned(spanned)} and ${isSpanned}`
    : ended
  const columns = columnsFrom(
    imageFields,
    (column) => sql`case when ${isUnchanged} then ${present}.${column} else former.${column} end`,
  )
  return sql`from ${deployments} ${present} left join lateral (${former}) as former on true
    cross join lateral (select ${columns}) as ${d}
    where (${isUnchanged} or former.until is not null) and (${which})`
}

const named = (column: 'deployment_id' | 'reporter'): SQL =>
  sql`(select ${sql.raw(column)} from ${deployments} ${present} where ${present.key} = former.key) as ${sql.raw(column)}`

/** The former states as rows `d`, in the orders of their index (walks/state-walk.ts). What they lack of a deployment is looked up where a condition needs it. */
export const formerRows = {
  from: sql`(select former.*, ${named('deployment_id')}, ${named('reporter')} from ${pastDeployments} former) as ${d}`,
  columns: sql`${endedColumns(sql`${d}`)}, ${d.deploymentId}, ${d.reporter}`,
}

/** A select of the deployments of a select of former states, in the same order. */
export function completed(rows: SQL): SQL {
  return sql`select ${deploymentColumns} from (${rows}) as former
    cross join lateral (select ${formerColumns} from ${deployments} ${present} where ${present.key} = former.key offset 0) as ${d}`
}

/** The same rows of all deployments that have changed since, from the states that held then, or at a revision from then to `last`. */
export function fromEnded({ revision, spanned }: Pick<Past, 'revision' | 'spanned'>, last = revision): SQL {
  const { until, revision: since } = pastDeployments
  const former = sql`select ${endedColumns(sql`${pastDeployments}`)} from ${pastDeployments} where ${until} > ${revision}::bigint and ${since} <= ${last}::bigint
    ${spanned ? sql`union all ${selectSpanned(spanned)}` : sql``}`
  // Where no column of the present row is read, PostgreSQL does not look for it.
  return sql`from (${former}) as former left join ${deployments} ${present} on ${present.key} = former.key
    cross join lateral (select ${formerColumns}) as ${d}`
}
