/**
 * What a narrowed reader sees: the one place that says so. A session carries its reader's sight, and whatever is read of the fleet
 * asks here:
 *
 *   a deployment, its parts, reports and resources   where it is (its target's labels, its rollout's project), in the past: where it was
 *   a target                                         its own labels; by project: that something of the project is on it
 *   a rollout, an instance                           its own project; by label: that something of it is on such a target
 *   a change                                         where its subject was when it had happened
 *
 * Labels are always the present ones: they have no past. A target that is seen only because of the past shows its name and nothing
 * else. Counters count everybody's: a narrowed reader's counts count what his lists show.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Change } from '../domain/change.ts'
import type { Sight } from '../domain/sight.ts'
import type { Session } from './database.ts'
import { all, either, hasAnyLabel, isAnyOf } from './parameters.ts'
import { changeLog, deployments, rollouts, targets } from './schema.ts'

type Reader = Pick<Session, 'sight'>

const labelled = alias(targets, 'labelled')
const ours = alias(rollouts, 'ours')
const hosted = alias(deployments, 'hosted')
const left = alias(changeLog, 'left_place')

/** The same session, for somebody who sees less. */
export function narrow<S extends Session>(session: S, sight: Sight | null): S {
  if (sight === null) return session
  const own = { rows: session.rows.bind(session), run: session.run.bind(session), sight }
  return Object.assign(Object.create(session) as S, own)
}

interface Place {
  readonly targetKey: SQLWrapper
  readonly rolloutKey: SQLWrapper
}

/** Deployments, and what is part of them. */
export function seesPlace({ sight }: Reader, { targetKey, rolloutKey }: Place): SQL[] {
  return [
    ...(sight?.labels ? [sql`${targetKey} in (${labelledTargets(sight.labels)})`] : []),
    ...(sight?.projects ? [sql`${rolloutKey} in (${rolloutsOf(sight.projects)})`] : []),
  ]
}

/** `ever`: also what it was once. */
export function seesTarget(
  { sight }: Reader,
  row: { readonly key: SQLWrapper; readonly labels: SQLWrapper },
  when: 'now' | 'ever' = 'now',
): SQL[] {
  return [
    ...(sight?.labels ? [hasAnyLabel(row.labels, sight.labels)] : []),
    ...(sight?.projects ? [hostsProject(row.key, sight.projects, when)] : []),
  ]
}

export function seesRollout(
  { sight }: Reader,
  row: { readonly key: SQLWrapper; readonly project: SQLWrapper },
  when: 'now' | 'ever' = 'now',
): SQL[] {
  return [
    ...(sight?.projects ? [isAnyOf(row.project, sight.projects, 'text')] : []),
    ...(sight?.labels ? [isOnLabelled(row.key, sight.labels, when)] : []),
  ]
}

/** What an orchestrator runs never moves, so it is where it always was. */
export function seesInstance(
  { sight }: Reader,
  row: { readonly key: SQLWrapper; readonly rolloutKey: SQLWrapper },
): SQL[] {
  return [
    ...(sight?.projects ? [sql`${row.rolloutKey} in (${rolloutsOf(sight.projects)})`] : []),
    ...(sight?.labels ? [sql`${row.key} in (${instancesOn(sight.labels)})`] : []),
  ]
}

interface Subject extends Place {
  readonly instanceKey: SQLWrapper
}

/** Entries of the log, as of after they happened. */
export function seesSubject({ sight }: Reader, { targetKey, rolloutKey, instanceKey }: Subject): SQL[] {
  if (!sight) return []
  const { labels, projects } = sight
  return [
    ...(labels
      ? [
          sql`case when ${targetKey} is not null then ${targetKey} in (${labelledTargets(labels)})
            when ${instanceKey} is not null then ${instanceKey} in (${instancesOn(labels)})
            else ${isOnLabelled(sql`${rolloutKey}`, labels, 'now')} end`,
        ]
      : []),
    ...(projects
      ? [
          sql`case when ${rolloutKey} is not null then ${rolloutKey} in (${rolloutsOf(projects)})
            else ${hostsProject(sql`${targetKey}`, projects, 'now')} end`,
        ]
      : []),
  ]
}

export interface Seen {
  /** Null: he is not told. What it says of where it came from is left out where that is not his to know. */
  readonly change: Change | null
  /** Whether something that he sees, or saw, has changed. */
  readonly concerns: boolean
}

/** What a reader is told of each of these changes, judged as it is now. */
export async function seeChanges(session: Session, changes: readonly Change[]): Promise<Seen[]> {
  if (!session.sight) return changes.map((change) => ({ change, concerns: true }))
  const subjects = new Map<string, number>()
  const numberOf = (subject: object): number => {
    const text = JSON.stringify(subject)
    const number = subjects.get(text) ?? subjects.size
    subjects.set(text, number)
    return number
  }
  const numbered = changes.map((change) => {
    const { targetKey: target, rolloutKey: rollout, instanceKey: instance } = change
    const after = numberOf({ target, rollout, instance })
    const fromTarget = change.kind === 'DEPLOYMENT_MOVED' ? change.fromTargetKey : target
    return {
      change,
      after,
      before: numberOf({ target: fromTarget, rollout: change.fromRolloutKey ?? rollout, instance }),
    }
  })
  const items = [...subjects].map(([text, number]) => ({ ...(JSON.parse(text) as object), number }))
  const item = { targetKey: sql`item.target`, rolloutKey: sql`item.rollout`, instanceKey: sql`item.instance` }
  const rows = await session.rows<{ number: number }>(
    sql`select item.number from json_to_recordset(${JSON.stringify(items)}::text::json)
        as item(number int, target bigint, rollout bigint, instance bigint)
      where ${all(seesSubject(session, item))}`,
  )
  const seen = new Set(rows.map(({ number }) => number))
  return numbered.map(({ change, after, before }) => ({
    change: seen.has(after) ? (seen.has(before) ? change : withoutOrigin(change)) : null,
    concerns: seen.has(after) || seen.has(before),
  }))
}

function withoutOrigin(change: Change): Change {
  const hidden = { ...change, fromTargetName: null, fromRolloutKey: null }
  return hidden.kind === 'DEPLOYMENT_MOVED' ? { ...hidden, fromTargetKey: nobody } : hidden
}

/** No target has this key. */
const nobody = 0

/** The reports that were heard of a deployment where it is seen: those from before it came there are somebody else's. */
export function seesReport(
  { sight }: Reader,
  row: { readonly deploymentKey: SQLWrapper; readonly revision: SQLWrapper; readonly receivedAt: SQLWrapper },
): SQL[] {
  if (!sight) return []
  const origin = {
    targetKey: sql`coalesce(${left.fromTargetKey}, ${left.targetKey})`,
    rolloutKey: sql`coalesce(${left.fromRolloutKey}, ${left.rolloutKey})`,
  }
  return [
    sql`not exists (select 1 from ${changeLog} ${left}
      where ${left.deploymentKey} = ${row.deploymentKey} and ${left.resourceKey} is null
        and (${left.fromTargetKey} is not null or ${left.fromRolloutKey} is not null)
        and case when ${row.revision} is null then ${left.at} > ${row.receivedAt} else ${left.firstRevision} > ${row.revision} end
        and not (${all(seesPlace({ sight }, origin))}))`,
  ]
}

type Labels = NonNullable<Sight['labels']>

function labelledTargets(labels: Labels): SQL {
  return sql`select ${labelled.key} from ${targets} ${labelled} where ${hasAnyLabel(labelled.labels, labels)}`
}

function rolloutsOf(projects: readonly string[]): SQL {
  return sql`select ${ours.key} from ${rollouts} ${ours} where ${isAnyOf(ours.project, projects, 'text')}`
}

function instancesOn(labels: Labels): SQL {
  return sql`select ${hosted.instanceKey} from ${deployments} ${hosted}
    where ${hosted.instanceKey} is not null and ${hosted.targetKey} in (${labelledTargets(labels)})`
}

function hostsProject(target: SQLWrapper, projects: readonly string[], when: 'now' | 'ever'): SQL {
  const own = rolloutsOf(projects)
  const now = sql`exists (select 1 from ${deployments} ${hosted}
    where ${hosted.targetKey} = ${target} and ${hosted.rolloutKey} in (${own}))`
  if (when === 'now') return now
  return either([
    now,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromTargetKey} = ${target} and coalesce(${left.fromRolloutKey}, ${left.rolloutKey}) in (${own}))`,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromRolloutKey} in (${own}) and coalesce(${left.fromTargetKey}, ${left.targetKey}) = ${target})`,
  ])
}

function isOnLabelled(rollout: SQLWrapper, labels: Labels, when: 'now' | 'ever'): SQL {
  const there = labelledTargets(labels)
  const now = sql`${rollout} in (select ${hosted.rolloutKey} from ${deployments} ${hosted} where ${hosted.targetKey} in (${there}))`
  if (when === 'now') return now
  return either([
    now,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromRolloutKey} = ${rollout} and coalesce(${left.fromTargetKey}, ${left.targetKey}) in (${there}))`,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromTargetKey} in (${there}) and coalesce(${left.fromRolloutKey}, ${left.rolloutKey}) = ${rollout})`,
  ])
}
