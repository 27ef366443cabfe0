/**
 * A fleet with thirty days of history, in the tables at once: each deployment has a birth and four later entries in the log, in the order of
 * their times. The shape of a large fleet: five deployments a device, one rollout with 30 % of all deployments, 499 with the rest.
 * The audit of the server must find no drift in it, and a server goes on from it as from any other database.
 */

export interface FleetShape {
  readonly deployments: number
  readonly devices: number
}

/** `deployments` is a multiple of a thousand. */
export function fleetShape(deployments: number): FleetShape {
  return { deployments, devices: deployments / 5 }
}

/** `run` executes a statement, always on the same connection, of an empty database whose server is not running. */
export async function seedThirtyDays(
  run: (statement: string) => Promise<unknown>,
  shape: FleetShape,
  say: (text: string) => void,
): Promise<void> {
  say(`  seeding ${shape.deployments} deployments`)
  for (const [name, statements] of Object.entries(stages(shape))) {
    const began = performance.now()
    for (const statement of statements) await run(statement)
    say(`  ${name}: ${Math.round((performance.now() - began) / 1000)} s`)
  }
}

/** Slot 0 of each device, and slot 1 of every second device, belong to the large rollout. */
const isLarge = '(slot = 0 or slot = 1 and device % 2 = 0)'
/** Offsets of 100 keep the rollouts of a device apart. */
const rolloutOf = `case when ${isLarge} then 0 else 1 + (device + slot * 100) % 499 end`

function stages({ deployments, devices }: FleetShape): Readonly<Record<string, readonly string[]>> {
  // Numbers between 0 and 1 that are the same in each run.
  const random = (salt: number): string => `((i::bigint * 2654435761 + ${salt} * 40503) % 1000003) / 1000003.0`
  return {
    plan: [
      'set synchronous_commit = off',
      "create unlogged table seed_head as select revision as base, next_key as key, now() - interval '30 days' as began from log_head",
      `create unlogged table seed_deployments as
        select i, device, slot, rollout, key + 1000 + i % ${devices} as target, key + ${devices} + 1000 + i as deployment, key + rollout as rollout_key,
          began + make_interval(secs => ${random(1)} * 0.33 * 2592000) as born, ${random(2)} as pace, ${random(3)} as later,
          case when i % 100 < 85 then 'INSTALLED' when i % 100 < 92 then 'FAILED' when i % 100 < 98 then 'INSTALLING' else 'REMOVED' end as final,
          case when i % 25000 = 85 then 'E_RARE' else 'E_' || (array['DISK', 'PULL', 'CRASH', 'NETWORK', 'AUTH', 'TIMEOUT'])[1 + (i / 100) % 6] end as code,
          (array['web', 'api', 'ui', 'worker', 'cache'])[1 + rollout % 5] as second, device % 4 = 0 as is_desired, device % 40 = 0 as is_stale
        from seed_head, generate_series(0, ${deployments - 1}) as i
        cross join lateral (select i % ${devices} as device, i / ${devices} as slot) place
        cross join lateral (select ${rolloutOf} as rollout) r`,
      `create unlogged table seed_entries as
        select i, step, at, state, convergence, lag(state) over steps as from_state, lag(convergence) over steps as from_convergence,
          lag(at) over steps as from_at, 3 + (convergence <> coalesce(lag(convergence) over steps, 'UNKNOWN'))::int + (step = 0)::int as length, 0::bigint as first, null::bigint as from_first
        from (
          select i, step, at, state, case when not is_desired then 'UNKNOWN' when is_stale then 'STALE'
            when state = 'FAILED' then 'FAILED' when state = 'INSTALLED' then 'CONVERGED' else 'APPLYING' end as convergence
          from (
            select d.*, step, date_trunc('milliseconds', least(now() - interval '1 minute', case step when 0 then born when 1 then born + interval '1 minute' + pace * interval '5 minutes'
                when 2 then born + interval '10 minutes' + pace * interval '1 hour' when 3 then again
                else again + interval '2 minutes' + pace * interval '1 hour' end)) + step * interval '1 millisecond' as at,
              case step when 0 then 'PENDING' when 1 then 'INSTALLING' when 2 then 'INSTALLED' when 3 then case when final = 'INSTALLING' then 'PENDING' else 'INSTALLING' end else final end as state
            from seed_deployments d cross join generate_series(0, 4) as step
            cross join lateral (select born + interval '2 hours' + later * (now() - born - interval '2 hours') as again) a
          ) s
        ) c window steps as (partition by i order by step)`,
      `create unlogged table seed_log as
        select *, lag(first) over (partition by i order by step) as from_first2 from (
          select i, step, at, state, convergence, from_state, from_convergence, from_at, length,
            base + 1 + sum(length) over (order by at, i, step) - length as first
          from seed_entries, seed_head) numbered`,
      'drop table seed_entries',
      'create index on seed_log (first)',
      'analyze seed_log',
      'analyze seed_deployments',
    ],
    targets: [
      `insert into targets (created_revision, key, kind, name, last_heard_at, connectivity, labels)
        select 1, target, 'DEVICE', 'edge-' || device, now(), case when device % 50 = 0 then 'OFFLINE' else 'ONLINE' end::connectivity,
          jsonb_build_array(jsonb_build_object('key', 'env', 'value', case when device % 10 = 0 then 'test' else 'prod' end),
            jsonb_build_object('key', 'site', 'value', 'site-' || device % 200), jsonb_build_object('key', 'ring', 'value', case when device % 1000 = 0 then 'canary' else 'wide' end))
        from seed_deployments where slot = 0`,
      `insert into manifests (target_key, version, at, who, why) select target, 2, began, 'seed', 'seed' from seed_deployments, seed_head where slot = 0 and is_desired`,
      `insert into desired_documents (digest, content) select 'sha256:' || encode(sha256(('document ' || rollout)::bytea), 'hex'), 'document ' || rollout from (select distinct rollout from seed_deployments) r`,
      `insert into manifest_entries (target_key, deployment_id, since, deployment_key, device_id, digest, size)
        select target, ${deploymentId}, 2, deployment, 'edge-' || device, ${digest}, 12 from seed_deployments where is_desired`,
    ],
    log: [
      divided,
      `insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key,
          from_state, from_convergence, to_state, to_convergence, found_by_changed, changes)
        select first, first + length - 1, at, deployment, target, rollout_key,
          from_state::deployment_state, from_convergence::convergence, state::deployment_state, convergence::convergence, step = 0,
          ${changes}
        from seed_log join seed_deployments using (i)
        cross join lateral (select error, 'app-of-' || rollout % 50 as application
          from (select case when state = 'FAILED' then ${error} end as error) e) e
        order by first`,
      `insert into past_deployments (until, key, target_key, rollout_key, application, application_version, state, derived_state, consistent, components, attempt,
          adopted_manifest_version, target_manifest_version, document_digest, convergence, changed_at, revision)
        select first, deployment, target, rollout_key, 'app-of-' || rollout % 50, '1.' || rollout % 3, from_state::deployment_state, from_state::deployment_state, true,
          ${components('from_state', 'from_first2', 'from_at', 'null::json')}, case when step > 3 then 2 else 1 end, ${adopted}, case when is_desired then 2 end,
          case when is_desired then ${digest} end, from_convergence::convergence, from_at, ${fromLast}
        from seed_log join seed_deployments using (i) where step > 0 order by first`,
      `insert into reports (deployment_key, key, verdict, received_at, state, error, revision, dialect, adopted_manifest_version)
        select deployment, (select key from seed_head) + ${devices + deployments} + 2000 + row_number() over (order by first), 'APPLIED', at, state::deployment_state,
          case when state = 'FAILED' then ${error} end, first + length - 1, 'margo', ${adopted} from seed_log join seed_deployments using (i) order by first`,
    ],
    present: [
      `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, application, application_version, state, derived_state, consistent, error,
          failure_stage, components, claimed, attempt, adopted_manifest_version, target_manifest_version, document_digest, convergence,
          received_at, changed_at, revision, marks)
        select deployment, ${deploymentId}, 'edge-' || device, target, rollout_key, 'app-of-' || rollout % 50, '1.' || rollout % 3, state::deployment_state, state::deployment_state, true,
          error, case when state = 'FAILED' then 'PROCESSING' end::failure_stage, ${components('state', 'first', 'at', 'error')}, true, 2,
          ${adopted}, case when is_desired then 2 end, case when is_desired then ${digest} end, convergence::convergence, at, at, first + length - 1,
          json_build_object('adoptedManifestVersion', ${adopted}::text, 'boot', null, 'seq', null, 'observedAt', null)
        from seed_log join seed_deployments using (i) cross join lateral (select case when state = 'FAILED' then ${error} end as error) e where step = 4`,
      `insert into rollouts (key, kind, identity, name, created_revision, created_at, started_revision, started_at, activity_revision, activity_at, changed_revision, changed_at,
          pending, installing, installed, failed, removing, removed, convergence_converged, convergence_applying, convergence_failed, convergence_stale, convergence_unknown)
        select rollout_key, case when rollout = 0 then 'DECLARED' else 'MARGO_DEPLOYMENT' end::rollout_kind, '[null,null,null,null,"' || name || '"]', name,
          min(first), min(at), min(first + length - 1) filter (where step = 1), min(at) filter (where step = 1), max(first + length - 1), max(at), max(first + length - 1), max(at), ${counts}
        from seed_log join seed_deployments using (i) cross join lateral (select case when rollout = 0 then 'fleet-wide' else 'app-' || rollout end as name) n
        group by rollout, rollout_key, name`,
      `update log_head set epoch_base = base, tail = base, tail_at = began, at = newest, revision = last, next_key = next_key + ${devices + 6 * deployments + 10_000},
          (pending, installing, installed, failed, removing, removed, convergence_converged, convergence_applying, convergence_failed, convergence_stale, convergence_unknown)
            = (select ${counts} from seed_log)
        from seed_head, (select max(first + length - 1) as last, max(at) as newest from seed_log) l`,
      'update epochs set began_at = (select began from seed_head)',
      'drop table seed_log, seed_deployments, seed_head',
    ],
  }
}

/** Partitions as the duty `partitions` would have made them: what a question of the past reads depends on them. */
const divided = `do $$ declare low bigint; high bigint; parts bigint; begin
    select min(first), max(first) into low, high from seed_log;
    parts := least(12, greatest(1, (high - low) / 500000));
    drop table past_deployments_first;
    for n in 1..parts loop
      execute format('create table past_deployments_%s partition of past_deployments for values from (%s) to (%s)', n,
        case when n = 1 then 'minvalue' else (low + (high - low) * (n - 1) / parts)::text end,
        case when n = parts then 'maxvalue' else (low + (high - low) * n / parts)::text end);
    end loop;
  end $$`

const deploymentId = `case when rollout = 0 then 'job-' || slot else 'app-' || rollout end`
const digest = `'sha256:' || encode(sha256(('document ' || rollout)::bytea), 'hex')`
const adopted = 'case when is_stale then 1 when is_desired then 2 end'
const error = `json_build_object('code', code, 'message', 'node ' || device || ' failed: ' || lower(code))`

/** The revision of the state that the entry ended: a birth with a convergence is longer. */
const fromLast = `from_first2 + 2 + case when step = 1 then 1 + (from_convergence <> 'UNKNOWN')::int else 0 end`

function components(state: string, first: string, at: string, failure: string): string {
  const component = (name: string, place: number, problem: string): string =>
    `json_build_object('name', ${name}, 'state', ${state}, 'error', ${problem}, 'changedAt', (extract(epoch from ${at}) * 1000)::bigint, 'revision', ${first} + ${place})`
  return `json_build_array(${component("'database'", 1, 'null::json')}, ${component('second', 2, failure)})`
}

const componentChange = (name: string, problem: string): string =>
  `json_build_object('kind', 'COMPONENT_STATE_CHANGED', 'component', ${name}, 'from', from_state, 'to', state, 'error', ${problem})`
const stateChange = `json_build_object('kind', 'DEPLOYMENT_STATE_CHANGED', 'from', from_state, 'to', state, 'error', error, 'attempt', case when step > 2 then 2 else 1 end,
  'adoptedManifestVersion', ${adopted}::text)`
const convergenceChange = `json_build_object('kind', 'CONVERGENCE_CHANGED', 'from', coalesce(from_convergence, 'UNKNOWN'), 'to', convergence,
  'targetManifestVersion', '2', 'documentDigest', ${digest})`
const threeChanges = `${stateChange}, ${componentChange("'database'", 'null::json')}, ${componentChange('second', 'error')}`
const birthChange = `json_build_object('kind', 'DEPLOYMENT_REVISED', 'application', application, 'applicationVersion', '1.' || rollout % 3, 'rolloutKey', rollout_key)`
const changes = `case when step = 0 then case when length = 5 then json_build_array(${threeChanges}, ${convergenceChange}, ${birthChange}) else json_build_array(${threeChanges}, ${birthChange}) end
  when length = 4 then json_build_array(${threeChanges}, ${convergenceChange}) else json_build_array(${threeChanges}) end`

const countOf = (field: string, value: string): string => `count(*) filter (where step = 4 and ${field} = '${value}')`
const counts = [
  ...['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'].map((state) => countOf('state', state)),
  ...['CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN'].map((value) => countOf('convergence', value)),
].join(', ')
