/**
 * Keeps the deployments of rollouts in the order of their names (deployment_names), behind the writer. The ID of a deployment never changes, so a row
 * changes with the rollout only. Readers add the deployments that have changed since the cursor (store/read/walks/rollout-names.ts).
 */
import type { Projection } from '../../projection.ts'

/** A row is written when its rollout differs. */
export const namesProjection: Projection = {
  name: 'names',
  version: 1,
  tables: ['deployment_names'],
  reads: 'deployments',
  columns: 'key, rollout_key, deployment_id, revision, forgotten_at',
  most: { postgres: 2_000, pglite: 1_000 },
  write: `written as (
    insert into deployment_names as known (deployment_key, rollout_key, deployment_id)
    select c.key, c.rollout_key, c.deployment_id from changed c
    left join lateral (select n.rollout_key from deployment_names n where n.deployment_key = c.key offset 0) n on true
    where c.forgotten_at is null and n.rollout_key is distinct from c.rollout_key
    on conflict (deployment_key) do update set rollout_key = excluded.rollout_key
  ), gone as (
    delete from deployment_names where deployment_key = any (array(select key from changed where forgotten_at is not null))
  )`,
}
