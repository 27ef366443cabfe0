/** The fleet on which the reads of filters are counted. Three deployments, the oldest, have what is rare. */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../../../src/store/database.ts'

export const size = 10_000

/** Deployment i changed i seconds after. */
export const began = Date.parse('2026-01-01T00:00:00Z')

/** Returns the revision before the first deployment. */
export async function fillFleet(session: Session): Promise<number> {
  const [head] = await session.rows<{ revision: number }>(sql`select revision from log_head`)
  const base = head?.revision ?? 0
  const rare = 'i <= 3'
  const changedAt = sql`${new Date(began).toISOString()}::timestamptz + make_interval(secs => i)`
  const error = (code: SQL): SQL => sql`json_build_object('code', ${code}, 'message', 'disk full')::text`
  await session.rows(sql`insert into targets (created_revision, key, kind, name, display_name, connectivity, labels)
    select 1, i, 'DEVICE', 'device-' || i, case when ${sql.raw(rare)} then 'Press ' || i end,
      case when ${sql.raw(rare)} then 'OFFLINE' else 'ONLINE' end::connectivity, case when ${sql.raw(rare)} then '[{"key":"site","value":"small"},{"key":"ring","value":"0"}]'::jsonb
      when i % 2 = 0 then '[{"key":"site","value":"large"}]' else '[]' end from generate_series(1, ${size}) i`)
  await session.rows(sql`insert into device_profiles (target_key, capabilities)
    select i, json_build_object('properties', json_build_object('vendor', 'common', 'modelNumber', case when ${sql.raw(rare)} then 'rare' end))::text
    from generate_series(1, ${size}, 2) i`)
  await session.rows(sql`insert into deployments (key, deployment_id, reporter, target_key, rollout_key, application, application_version, state, derived_state, consistent,
      convergence, readiness, error, components, claimed, attempt, received_at, changed_at, revision, marks)
    select i, 'dep-' || i, 'device-' || i, i, i, case when ${sql.raw(rare)} then 'rare' else 'app' end, '1', case when ${sql.raw(rare)} then 'FAILED' else 'INSTALLED' end::deployment_state,
      case when ${sql.raw(rare)} then 'FAILED' else 'INSTALLED' end::deployment_state, i > 3,
      case when ${sql.raw(rare)} then 'STALE' else 'CONVERGED' end::convergence,
      case when ${sql.raw(rare)} then 'PENDING' when i % 2 = 0 then 'READY' else 'UNKNOWN' end::readiness,
      case when ${sql.raw(rare)} then ${error(sql`'E_RARE'::text`)}::json when i % 2 = 0 then ${error(sql`'E_COMMON'::text`)}::json end,
      json_build_array(json_build_object('name', 'api', 'state', 'INSTALLED', 'error', null, 'changedAt', 1, 'revision', 1),
        json_build_object('name', case when ${sql.raw(rare)} then 'rare' else 'ui' end, 'state', 'INSTALLED', 'error', null, 'changedAt', 1, 'revision', 1)),
      true, 1, ${changedAt}, ${changedAt}, ${base}::bigint + i, '{}' from generate_series(1, ${size}) i`)
  await session.rows(sql`insert into change_log (found_by_changed, first_revision, last_revision, at, deployment_key, target_key, rollout_key, changes)
    select true, ${base}::bigint + i, ${base}::bigint + i, ${changedAt}, i, i, i,
      json_build_array(json_build_object('kind', case when ${sql.raw(rare)} then 'DEPLOYMENT_STALLED' else 'COMPONENT_STATE_CHANGED' end,
        'component', case when i % 2 = 0 then 'api' else 'ui-' || i end, 'to', 'INSTALLED', 'error', case when i = 7777 then ${error(sql`'E_RARE'::text`)}::json end))
    from generate_series(1, ${size}) i`)
  // As autovacuum does.
  for (const index of ['targets_labels', 'device_profiles_labels'])
    await session.run(`select gin_clean_pending_list('${index}'::regclass)`)
  await session.rows(sql`update log_head set revision = ${base + size}::bigint, installed = ${size - 3}, failed = 3,
    tail_at = ${new Date(began).toISOString()}::timestamptz, at = now()`)
  await session.rows(sql`update epochs set began_at = ${new Date(began).toISOString()}::timestamptz`)
  return base
}
