/** A fleet in which each device has one deployment. */
import type { Revision } from '../../../src/domain/values.ts'
import type { Session } from '../../../src/store/database.ts'
import { endStates } from './long-log.ts'

export const size = 20_000
/** Deployments and their targets have the keys 1..size; this rollout has half of them, the others have one each. */
export const spring = size + 1
/** Deployments with ids of their own. All others share one. */
const ownId = 100

/** A fleet all at once: two entries of three changes for each deployment. The three that failed changed first. */
export async function fillFleet(session: Session, base: Revision): Promise<void> {
  const rollout = `case when i % 2 = 0 then ${spring} else ${spring} + i end`
  const state = `(case when i <= 3 then 'FAILED' else 'INSTALLED' end)`
  const components = `'[{"name":"api","state":"INSTALLED","error":null,"changedAt":1,"revision":1}]'::jsonb`
  const series = `from generate_series(1, ${size}) i`
  const statements = [
    `insert into targets (created_revision, key, kind, name) select 1, i, 'DEVICE', 'device-' || i ${series}`,
    `insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision, installed)
     select now(), 1, now(), 1, now(), k, case when k = ${spring} then 'DECLARED' else 'MARGO_DEPLOYMENT' end::rollout_kind, k::text, k::text, ${base}, 1
     from generate_series(${spring}, ${spring + size}) k`,
    `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, derived_state, consistent, components,
       claimed, attempt, received_at, changed_at, revision, marks)
     select i, case when i <= ${ownId} then 'dep-' || i else 'everywhere' end, 'device-' || i, i, ${rollout}, ${state}::deployment_state, 'INSTALLED', true, ${components},
       true, 1, now(), now(), ${base + 3 * size} + 3 * i, '{}' ${series}`,
    ...[0, 1].map(
      (
        round,
      ) => `insert into change_log (found_by_changed, first_revision, last_revision, at, deployment_key, target_key, rollout_key, changes)
       select true, ${base + 3 * size * round} + 3 * i - 2, ${base + 3 * size * round} + 3 * i, now(), i, i, ${rollout},
         jsonb_build_array(
           jsonb_build_object('kind', 'DEPLOYMENT_STATE_CHANGED', 'from', 'PENDING', 'to', 'INSTALLED', 'error', null, 'attempt', 1),
           jsonb_build_object('kind', 'COMPONENT_STATE_CHANGED', 'component', 'api', 'from', null, 'to', 'INSTALLED'),
           jsonb_build_object('kind', 'COMPONENT_STATE_CHANGED', 'component', 'ui', 'from', null, 'to', 'INSTALLED')) ${series}`,
    ),
    endStates(`l.first_revision > ${base + 3 * size}`, {
      ...{ state: `'INSTALLED'`, derived_state: 'null', changed_at: `'2026-01-01'`, revision: `${base} + 3 * d.key` },
    }),
    `update log_head set revision = ${base + 6 * size}, installed = ${size - 3}, failed = 3`,
  ]
  for (const statement of statements) await session.run(statement)
}
