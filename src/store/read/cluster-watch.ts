/** Leases of replicas, and reads for watching clusters: which clusters this replica watches, and what was last seen there. */

import type { LifecycleRolloutName } from '../../domain/rollout.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'

/** Takes or renews leases in one statement. Returns the names that this holder has until `now + term`. */
export async function holdLeases(
  session: Session,
  {
    names,
    holder,
    now,
    term,
  }: { readonly names: readonly string[]; readonly holder: string; readonly now: Millis; readonly term: Millis },
): Promise<Set<string>> {
  // All replicas lock rows in the same order, so they cannot deadlock.
  const rows = await session.run<{ name: string }>(
    `insert into leases as l (name, holder, until, since)
     select name, $2::text, $3::timestamptz, $4::timestamptz
     from json_array_elements_text($1::text::json) as wanted(name) order by name
     on conflict (name) do update set holder = excluded.holder, until = excluded.until,
       since = case when l.holder = excluded.holder then l.since else excluded.since end
     where l.holder = excluded.holder or l.until < $4::timestamptz
     returning name`,
    [storableJson(names), holder, iso(now + term), iso(now)],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Releases leases, so that other replicas need not wait until they expire. */
export async function releaseLeases(session: Session, names: readonly string[], holder: string): Promise<void> {
  await session.run(
    `delete from leases where holder = $2::text and name in (select json_array_elements_text($1::text::json))`,
    [storableJson(names), holder],
  )
}

/** Holders of leases whose names begin with `prefix`. Removes leases that have expired: each server has a name of its own. */
export async function countLeaseHolders(session: Session, prefix: string, now: Millis): Promise<number> {
  const [row] = await session.run<{ n: number }>(
    `with gone as (delete from leases where starts_with(name, $1) and until < $2::timestamptz)
     select count(distinct holder)::int as n from leases where starts_with(name, $1) and until >= $2::timestamptz`,
    [prefix, iso(now)],
  )
  return row?.n ?? 0
}

/** A component that a cluster has shown and still shows, as far as is known. Instances with the same status context share it. */
export interface ShownComponent {
  readonly context: string
  readonly component: string
  readonly uid: string | null
}

export async function shownComponents(session: Session, provider: string, name: string): Promise<ShownComponent[]> {
  return session.run<ShownComponent>(
    `select distinct on (i.status_context, b.component) i.status_context as context, b.component, b.uid
     from targets t
     join bundles b on b.target_key = t.key
     join instances i on i.key = b.instance_key
     join deployments d on d.instance_key = b.instance_key and d.target_key = b.target_key
     where t.kind = 'CLUSTER' and t.provider = $1::text and t.name = $2::text
       and exists (select 1 from resources x where x.deployment_key = d.key and x.gone_at is null
         and x.component = b.component and x.presence = 'PRESENT')
     order by i.status_context, b.component, b.received_at desc`,
    [provider, name],
  )
}

/** The rollouts whose instances have these status contexts. Unknown contexts are absent. */
export async function rolloutsOfContexts(
  session: Session,
  contexts: readonly string[],
): Promise<Map<string, LifecycleRolloutName>> {
  const rows = await session.run<{ context: string; rollout: LifecycleRolloutName }>(
    `select distinct on (i.status_context) i.status_context as context,
       json_build_object('kind', r.kind, 'name', r.name, 'project', r.project, 'compositeApp', r.composite_app,
         'compositeAppVersion', r.composite_app_version, 'provider', r.provider) as rollout
     from instances i join rollouts r on r.key = i.rollout_key
     where i.status_context in (select json_array_elements_text($1::text::json))
       and r.kind in ('DEPLOYMENT_INTENT_GROUP', 'CLUSTER_INTENTS')
     order by i.status_context, i.key desc`,
    [storableJson(contexts)],
  )
  return new Map(rows.map(({ context, rollout }) => [context, rollout]))
}
