/**
 * Keeps the deployments of rollouts in the order of their names (deployment_names), behind the writer. The ID of a deployment never changes, so a row
 * changes with the rollout only. Readers add the deployments that have changed since the cursor (store/read/walks/rollout-names.ts).
 */
import { followDeployments } from './changed-deployments.ts'

export const namesDuty = 'names'

/** Keep the names up to date (followOnce). A row is written when its rollout differs. */
export const nameStatements = followDeployments(
  namesDuty,
  'key, rollout_key, deployment_id, revision, forgotten_at',
  `written as (
    insert into deployment_names as known (deployment_key, rollout_key, deployment_id)
    select c.key, c.rollout_key, c.deployment_id from changed c
    left join lateral (select n.rollout_key from deployment_names n where n.deployment_key = c.key offset 0) n on true
    where c.forgotten_at is null and n.rollout_key is distinct from c.rollout_key
    on conflict (deployment_key) do update set rollout_key = excluded.rollout_key
  ), gone as (
    delete from deployment_names where deployment_key = any (array(select key from changed where forgotten_at is not null))
  )`,
)
