/**
 * A fleet with a long log, in the tables at once: in each round, one deployment after the other changes between INSTALLING and INSTALLED. So the state
 * of each deployment, and the counts, are known at each entry. The entries are as those of reports without components.
 */
import postgres from 'postgres'

export interface LongLog {
  readonly deployments: number
  /** An even number of rounds, after the first report of each deployment. */
  readonly rounds: number
  /** Milliseconds since 1970: the time of the entry before the first. */
  readonly began: number
  /** Milliseconds between two entries. */
  readonly step: number
}

const days = 25
const perRollout = 100
/** Entries of one statement. */
const portion = 1_000_000
/** As fleetSpacing in src/store/write/derived/checkpoints.ts. */
const checkpointSpacing = 2_000
/** As summarySize in src/store/write/derived/change-summaries.ts. */
const summarySize = 1_000
/** Entries from one sample of a summary to the next, in the same file. */
const sampleSpacing = 32

/** `entries` after those of the first reports. */
export function longLog(deployments: number, entries: number): LongLog {
  const step = Math.floor((days * 86_400_000) / (entries + deployments))
  return { deployments, rounds: entries / deployments, began: Date.now() - days * 86_400_000, step }
}

export function entriesOf({ deployments, rounds }: LongLog): number {
  return deployments * (rounds + 1)
}

export function deploymentOf({ deployments }: LongLog, entry: number): { deploymentId: string; deviceId: string } {
  const number = (entry - 1) % deployments
  return { deploymentId: `app-${number % (deployments / perRollout)}`, deviceId: `edge-${number}` }
}

/** After the entry: 1 is the first. */
export function timeOf({ began, step }: LongLog, entry: number): string {
  return new Date(began + entry * step).toISOString()
}

/** Deployments that are INSTALLING after the entry, when all have reported. */
export function installingAfter({ deployments }: LongLog, entry: number): number {
  const round = Math.floor(entry / deployments)
  const reported = entry % deployments
  return round % 2 === 1 ? reported : deployments - reported
}

/** Of the entry's own deployment. */
export function stateAfter({ deployments }: LongLog, entry: number): 'INSTALLING' | 'INSTALLED' {
  return Math.floor((entry - 1) / deployments) % 2 === 1 ? 'INSTALLING' : 'INSTALLED'
}

/** Into an empty database whose server is not running. */
export async function seedLongLog(url: string, log: LongLog, say: (text: string) => void): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const entries = entriesOf(log)
  const { deployments, began, step } = log
  const rollouts = deployments / perRollout
  const at = (entry: string): string =>
    `timestamptz 'epoch' + (${began} + (${entry})::bigint * ${step}) * interval '1 millisecond'`
  try {
    const [head = { base: 0, key: 0 }] = await sql<{ base: number; key: number }[]>`
      select revision::float8 as base, next_key::float8 as key from log_head`
    const { base, key } = head
    const [target, deployment, rollout] = [key, key + deployments, key + 2 * deployments]
    const report = rollout + rollouts
    await sql.unsafe(`set synchronous_commit = off`)
    await sql.unsafe(`
      insert into targets (created_revision, key, kind, name, last_heard_at)
        select 1, ${target} + i, 'DEVICE', 'edge-' || i, ${at(String(entries))} from generate_series(0, ${deployments - 1}) i;
      insert into rollouts (key, kind, identity, name, created_revision, created_at, started_revision, started_at,
          activity_revision, activity_at, changed_revision, changed_at, installed, convergence_unknown)
        select ${rollout} + r, 'MARGO_DEPLOYMENT', '[null,null,null,null,"app-' || r || '"]', 'app-' || r,
          ${base} + 1 + r, ${at('1 + r')}, ${base} + 1 + r, ${at('1 + r')}, last, ${at(`last - ${base}`)}, last, ${at(`last - ${base}`)}, ${perRollout}, ${perRollout}
        from generate_series(0, ${rollouts - 1}) r cross join lateral (select ${base + entries - rollouts + 1} + r as last) l;
      insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, derived_state, consistent, components,
          claimed, attempt, received_at, changed_at, revision, marks)
        select ${deployment} + i, 'app-' || i % ${rollouts}, 'edge-' || i, ${target} + i, ${rollout} + i % ${rollouts}, 'INSTALLED', null, true, '[]',
          true, ${1 + log.rounds / 2}, ${at(`last - ${base}`)}, ${at(`last - ${base}`)}, last, '{"adoptedManifestVersion":null,"boot":null,"seq":null,"observedAt":null}'
        from generate_series(0, ${deployments - 1}) i cross join lateral (select ${base + entries - deployments + 1} + i as last) l;
      insert into reports (deployment_key, key, verdict, received_at, state, revision, dialect)
        select key, ${report} + key - ${deployment}, 'APPLIED', received_at, state, revision, 'margo' from deployments order by key;
      update log_head set epoch_base = ${base}, tail = ${base}, tail_at = ${at('0')}, at = ${at(String(entries))}, revision = ${base + entries},
        next_key = ${report + deployments}, installed = ${deployments}, convergence_unknown = ${deployments};
      update epochs set began_at = ${at('0')};
      insert into deployment_checkpoints (rollout_key, revision, counts)
        select 0, ${base} + n, json_build_array(
          json_build_object('state', 'INSTALLING', 'convergence', 'UNKNOWN', 'n', installing),
          json_build_object('state', 'INSTALLED', 'convergence', 'UNKNOWN', 'n', ${deployments} - installing))
        from generate_series(${deployments}, ${entries}, ${checkpointSpacing}) n cross join lateral (
          select case when n / ${deployments} % 2 = 1 then n % ${deployments} else ${deployments} - n % ${deployments} end as installing) c;
      insert into change_summaries (first_revision, last_revision, entries, terms, last_at, sample_revisions, sample_times)
        select ${base + 1} + n, ${base + summarySize} + n, ${summarySize}, array['k:DEPLOYMENT_STATE_CHANGED', 's:' || case when round % 2 = 1 then 'INSTALLING' else 'INSTALLED' end],
          ${at(`n + ${summarySize}`)},
          array(select ${base} + n + s from generate_series(${sampleSpacing}, ${summarySize}, ${sampleSpacing}) s),
          array(select ${at('n + s')} from generate_series(${sampleSpacing}, ${summarySize}, ${sampleSpacing}) s)
        from generate_series(0, ${entries - summarySize}, ${summarySize}) n cross join lateral (select n / ${deployments} as round) r;
      insert into duties (name, cursor) select name, ${base + entries} from unnest(array['checkpoints', 'standstill', 'alerts', 'summaries']) name
        on conflict (name) do update set cursor = excluded.cursor`)
    for (let from = 0; from < entries; from += portion) {
      const [first, last] = [from + 1, Math.min(from + portion, entries)]
      await sql.unsafe(`
        with seeded as (
          select n, i, round, ${rollout} + i % ${rollouts} as rollout,
            case when round % 2 = 1 then 'INSTALLING' else 'INSTALLED' end as state, case when round % 2 = 1 then 'INSTALLED' else 'INSTALLING' end as former
          from (select n, (n - 1) % ${deployments} as i, (n - 1) / ${deployments} as round from generate_series(${first}::bigint, ${last}) n) numbered
        ), ended as (
          insert into past_deployments (until, key, target_key, rollout_key, state, consistent, components, attempt, changed_at, revision)
          select ${base} + n, ${deployment} + i, ${target} + i, rollout, former::deployment_state, true, '[]', (round + 1) / 2,
            ${at(`n - ${deployments}`)}, ${base - deployments} + n from seeded where round > 0
        )
        insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key,
            from_state, from_convergence, to_state, to_convergence, found_by_changed, changes)
        select ${base} + n, ${base} + n, ${at('n')}, ${deployment} + i, ${target} + i, rollout,
          case when round > 0 then former::deployment_state end, case when round > 0 then 'UNKNOWN'::convergence end, state::deployment_state, 'UNKNOWN',
          round = 0, ('[{"kind":"DEPLOYMENT_STATE_CHANGED","from":' || case when round > 0 then '"' || former || '"' else 'null' end || ',"to":"' || state
            || '","error":null,"attempt":' || round / 2 + 1 || ',"adoptedManifestVersion":null}]')::json
        from seeded`)
      if (last % (10 * portion) === 0) say(`  ${last / portion} million entries`)
    }
    await sql.unsafe('vacuum analyze')
  } finally {
    await sql.end()
  }
}
