/**
 * A fleet in the tables at once, as if each device had reported for the first time: a hundred deployments share a rollout.
 * The counters are those of the rows; the caller checks that by the server's own audit.
 */
import postgres from 'postgres'

export const perRollout = 100

export function seededDeployment(number: number, deployments: number): { deploymentId: string; deviceId: string } {
  const rollouts = deployments / perRollout
  return { deploymentId: `app-${number % rollouts}`, deviceId: `edge-${number}` }
}

/** Into an empty database whose server is not running. `deployments` is a multiple of a hundred. */
export async function seedFleet(url: string, deployments: number): Promise<void> {
  const rollouts = deployments / perRollout
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(`
      begin;
      create temporary table head on commit drop as select revision as base, next_key as key from log_head;
      create temporary table fleet on commit drop as
        select i, 'app-' || i % ${rollouts} as id, 'edge-' || i as device,
          (array['PENDING', 'INSTALLING', 'INSTALLED', 'INSTALLED', 'FAILED'])[1 + i / ${rollouts} % 5]::deployment_state as state,
          key + i as target, key + ${deployments} + i as deployment, key + ${2 * deployments} + i as report,
          key + ${3 * deployments} + i % ${rollouts} as rollout, base + 3 * i + 1 as first, now()::timestamptz(3) as at
        from head, generate_series(0, ${deployments - 1}) as i;
      insert into targets (created_revision, key, kind, name, last_heard_at) select 1, target, 'DEVICE', device, at from fleet;
      insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision, ${counters})
        select now(), 1, now(), 1, now(), rollout, 'MARGO_DEPLOYMENT', '[null,null,null,null,"' || id || '"]', id, min(first), ${counts}
        from fleet group by rollout, id;
      insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, derived_state, consistent, components,
          claimed, attempt, received_at, changed_at, revision, marks)
        select deployment, id, device, target, rollout, state, state, true,
          json_build_array(${component('database', 'first + 1')}, ${component('web', 'first + 2')}),
          true, 1, at, at, first + 2, '{"adoptedManifestVersion":null,"boot":null,"seq":null,"observedAt":null}'
        from fleet;
      insert into change_log (found_by_changed, first_revision, last_revision, at, deployment_key, target_key, rollout_key, to_state, to_convergence, changes)
        select true, first, first + 2, at, deployment, target, rollout, state, 'UNKNOWN', json_build_array(
          json_build_object('kind', 'DEPLOYMENT_STATE_CHANGED', 'from', null, 'to', state, 'error', null, 'attempt', 1,
            'adoptedManifestVersion', null), ${change('database')}, ${change('web')})
        from fleet;
      insert into reports (deployment_key, key, verdict, received_at, state, revision, dialect)
        select deployment, report, 'APPLIED', at, state, first + 2, 'margo' from fleet;
      update log_head set revision = base + ${3 * deployments}, next_key = key + ${3 * deployments + rollouts}, at = now(),
        (${counters}) = (select ${counts} from fleet) from head;
      commit;
    `)
    await sql.unsafe('vacuum analyze')
  } finally {
    await sql.end()
  }
}

/** Nothing was declared of any of them. */
const counters = 'pending, installing, installed, failed, convergence_unknown'
const counts = [
  ...['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED'].map((state) => `count(*) filter (where state = '${state}')`),
  'count(*)',
].join(', ')

function component(name: string, revision: string): string {
  return `json_build_object('name', '${name}', 'state', state, 'error', null, 'changedAt', (extract(epoch from at) * 1000)::bigint, 'revision', ${revision})`
}

function change(name: string): string {
  return `json_build_object('kind', 'COMPONENT_STATE_CHANGED', 'component', '${name}', 'from', null, 'to', state, 'error', null)`
}
