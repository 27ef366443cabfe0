/** Checks each checkpoint of counts: with what the log did until the next one, it must give that one; the last one must give a recount. */
import { type SQL, sql } from 'drizzle-orm'
import type { Tally } from '../../../domain/counters.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { deploymentCheckpoints as c, deployments, logHead } from '../../tables/schema.ts'
import { d, stands } from '../filters/deployment-filter.ts'
import type { Drift } from './drift.ts'
import { selectMoves } from './moves.ts'

interface CheckRecord extends Omit<Tally, 'n'> {
  readonly key: number
  readonly revision: Revision
  readonly counted: number
  readonly recounted: number
}

interface Place {
  readonly key: number
  readonly revision: Revision
}

export async function auditCheckpoints(session: Session, step: number): Promise<Drift[]> {
  const drift: Drift[] = []
  for (let from: Place | undefined = { key: -1, revision: 0 }; from; ) {
    const places: Place[] = await session.rows<Place>(
      sql`select ${c.rolloutKey} as key, ${c.revision} from ${c} cross join ${logHead}
        where (${c.rolloutKey}, ${c.revision}) > (${from.key}::bigint, ${from.revision}::bigint)
          and ${c.revision} >= ${logHead.tail}
        order by ${c.rolloutKey}, ${c.revision} limit ${step}`,
    )
    const last = places.at(-1)
    if (!last) break
    for (const parents of ['fleet', 'rollout'] as const) {
      if (!places.some(({ key }) => (key === 0) === (parents === 'fleet'))) continue
      const rows = await session.rows<CheckRecord>(check(parents, from, last))
      for (const { key, revision, state, convergence, counted, recounted } of rows)
        drift.push({ scope: `checkpoint:#${key}@${revision}`, field: `${state}/${convergence}`, counted, recounted })
    }
    from = places.length < step ? undefined : last
  }
  return drift
}

/** Of the checkpoints after a place, up to another. */
function check(of: 'fleet' | 'rollout', from: Place, to: Place): SQL {
  const kept = (counts: SQL): SQL =>
    sql`json_to_recordset(${counts}) as kept(state deployment_state, convergence convergence, n int)`
  const isOwn = of === 'fleet' ? sql`true` : sql`${d.rolloutKey} = parent.key`
  const moves = selectMoves(of, { after: sql`parent.revision`, upTo: sql`parent.next_revision` })
  return sql`select parent.key, parent.revision, part.state, part.convergence, sum(part.counted)::int as counted, sum(part.recounted)::int as recounted
    from (
      select ${c.rolloutKey} as key, ${c.revision}, ${c.counts}, coalesce(later.revision, ${logHead.revision}) as next_revision,
        later.counts as next_counts
      from ${c} cross join ${logHead} left join lateral (
        select after.revision, after.counts from ${c} as after where after.rollout_key = ${c.rolloutKey} and after.revision > ${c.revision}
        order by after.revision limit 1) as later on true
      where (${c.rolloutKey}, ${c.revision}) > (${from.key}::bigint, ${from.revision}::bigint)
        and (${c.rolloutKey}, ${c.revision}) <= (${to.key}::bigint, ${to.revision}::bigint)
        and ${c.revision} >= ${logHead.tail}
        and ${of === 'fleet' ? sql`${c.rolloutKey} = 0` : sql`${c.rolloutKey} <> 0`}
    ) as parent cross join lateral (
      select kept.state, kept.convergence, kept.n as counted, 0 as recounted from ${kept(sql`parent.counts`)}
      union all select kept.state, kept.convergence, 0, kept.n from ${kept(sql`parent.next_counts`)}
      union all (select ${d.state}, ${d.convergence}, 0, count(*)::int from ${deployments} ${d}
        where parent.next_counts is null and ${stands({})} and ${d.isCurrent} and ${isOwn} group by 1, 2)
      union all select move.state, move.convergence, 0, -move.n from (${moves}) as move
    ) as part
    group by 1, 2, 3, 4 having sum(part.counted) <> sum(part.recounted)`
}
