/**
 * What a narrowed reader sees: the one place that says so. A session carries its reader's sight, and whatever is read of the fleet
 * asks here:
 *
 *   a deployment, its parts, reports and resources   where it is (its target's labels, its rollout's project), in the past: where it was
 *   a target                                         its own labels; by project: that something of the project is on it
 *   a rollout, an instance                           its own project; by label: that something of it is on such a target
 *   a change                                         where its subject was when it had happened; who does not see where it came from
 *                                                    is not told of that, nor what it had there
 *
 * What a deployment was reported to be on another target is never part of what it is here: domain/deployment.ts, movedTo.
 * Labels are always the present ones: they have no past. A target that is seen only because of the past shows its name and nothing
 * else. Counters count everybody's: a narrowed reader's counts count what his lists show.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { AccessScope } from '../../domain/access-scope.ts'
import type { Change } from '../../domain/change.ts'
import { storableJson } from '../../domain/text.ts'
import type { Session } from '../database.ts'
import { all, either, hasAnyLabel, isAnyOf } from '../sql/parameters.ts'
import { changeLog, deployments, rollouts, targets } from '../tables/schema.ts'

type Reader = Pick<Session, 'accessScope'>

const labelled = alias(targets, 'labelled')
const ours = alias(rollouts, 'ours')
const hosted = alias(deployments, 'hosted')
const left = alias(changeLog, 'left_place')

/** The same session, for somebody who sees less. */
export function withScope<S extends Session>(session: S, accessScope: AccessScope | null): S {
  if (accessScope === null) return session
  const own = { rows: session.rows.bind(session), run: session.run.bind(session), accessScope }
  return Object.assign(Object.create(session) as S, own)
}

interface Place {
  readonly targetKey: SQLWrapper
  readonly rolloutKey: SQLWrapper
}

/** Deployments, and what is part of them. */
export function visiblePlace({ accessScope }: Reader, { targetKey, rolloutKey }: Place): SQL[] {
  return [
    ...(accessScope?.labels ? [sql`${targetKey} in (${labelledTargets(accessScope.labels)})`] : []),
    ...(accessScope?.projects ? [sql`${rolloutKey} in (${rolloutsOf(accessScope.projects)})`] : []),
  ]
}

/** `ever`: also what it was once. */
export function visibleTarget(
  { accessScope }: Reader,
  row: { readonly key: SQLWrapper; readonly labels: SQLWrapper },
  when: 'now' | 'ever' = 'now',
): SQL[] {
  return [
    ...(accessScope?.labels ? [hasAnyLabel(row.labels, accessScope.labels)] : []),
    ...(accessScope?.projects ? [hostsProject(row.key, accessScope.projects, when)] : []),
  ]
}

export function visibleRollout(
  { accessScope }: Reader,
  row: { readonly key: SQLWrapper; readonly project: SQLWrapper },
  when: 'now' | 'ever' = 'now',
): SQL[] {
  return [
    ...(accessScope?.projects ? [isAnyOf(row.project, accessScope.projects, 'text')] : []),
    ...(accessScope?.labels ? [isOnLabelled(row.key, accessScope.labels, when)] : []),
  ]
}

/** What an orchestrator runs never moves, so it is where it always was. */
export function visibleInstance(
  { accessScope }: Reader,
  row: { readonly key: SQLWrapper; readonly rolloutKey: SQLWrapper },
): SQL[] {
  return [
    ...(accessScope?.projects ? [sql`${row.rolloutKey} in (${rolloutsOf(accessScope.projects)})`] : []),
    ...(accessScope?.labels ? [sql`${row.key} in (${instancesOn(accessScope.labels)})`] : []),
  ]
}

interface Subject extends Place {
  readonly instanceKey: SQLWrapper
}

/** Entries of the log, as of after they happened. */
export function visibleSubject({ accessScope }: Reader, { targetKey, rolloutKey, instanceKey }: Subject): SQL[] {
  if (!accessScope) return []
  const { labels, projects } = accessScope
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

export interface VisibleChange {
  /** Null: he is not told. What it says of where it came from is left out where that is not his to know. */
  readonly change: Change | null
  /** Whether something that he sees, or saw, has changed. */
  readonly concerns: boolean
}

/** What a reader is told of each of these changes, judged as it is now. */
export async function visibleChanges(session: Session, changes: readonly Change[]): Promise<VisibleChange[]> {
  if (!session.accessScope) return changes.map((change) => ({ change, concerns: true }))
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
    const before = numberOf({
      target: change.fromTargetKey ?? target,
      rollout: change.fromRolloutKey ?? rollout,
      instance,
    })
    return { change, after, before }
  })
  const items = [...subjects].map(([text, number]) => ({ ...(JSON.parse(text) as object), number }))
  const item = { targetKey: sql`item.target`, rolloutKey: sql`item.rollout`, instanceKey: sql`item.instance` }
  const rows = await session.rows<{ number: number }>(
    sql`select item.number from json_to_recordset(${storableJson(items)}::text::json)
        as item(number int, target bigint, rollout bigint, instance bigint)
      where ${all(visibleSubject(session, item))}`,
  )
  const seen = new Set(rows.map(({ number }) => number))
  return numbered.map(({ change, after, before }) => ({
    change: seen.has(after) ? (seen.has(before) ? change : withoutOrigin(change)) : null,
    concerns: seen.has(after) || seen.has(before),
  }))
}

/** Null: it only says what was there before. `from` is null already, but for moves that earlier versions have logged. */
function withoutOrigin(change: Change): Change | null {
  const hidden = { ...change, fromTargetKey: null, fromTargetName: null, fromRolloutKey: null }
  switch (hidden.kind) {
    case 'DEPLOYMENT_MOVED':
      return { ...hidden, fromTargetKey: noTarget }
    case 'DEPLOYMENT_STATE_CHANGED':
    case 'COMPONENT_STATE_CHANGED':
      return { ...hidden, from: null }
    case 'COMPONENT_REMOVED':
      return null
    default:
      return hidden
  }
}

/** No target has this key. */
const noTarget = 0

/** The same in SQL: whether there is a change to tell when `entry` came from where its reader does not see it. */
export function tellsOfHere(reader: Reader, change: SQLWrapper, entry: Subject & Origin): SQL[] {
  if (!reader.accessScope) return []
  const isHere = sql`${entry.fromTargetKey} is null and ${entry.fromRolloutKey} is null`
  return [either([sql`${change} ->> 'kind' <> 'COMPONENT_REMOVED'`, isHere, all(sawOrigin(reader, entry))])]
}

interface Origin {
  readonly fromTargetKey: SQLWrapper
  readonly fromRolloutKey: SQLWrapper
}

/** Where the subject of an entry was before it. */
export function sawOrigin(reader: Reader, entry: Subject & Origin): SQL[] {
  return visiblePlace(reader, {
    targetKey: sql`coalesce(${entry.fromTargetKey}, ${entry.targetKey})`,
    rolloutKey: sql`coalesce(${entry.fromRolloutKey}, ${entry.rolloutKey})`,
  })
}

/**
 * The reports that were heard of a deployment where it is seen. Where it was then, the next entry that took it away says, or it is there
 * still. A STALE one has made no revision, and may speak of a target that the deployment has left: it names its place itself.
 */
export function visibleReport(
  reader: Reader,
  row: Place & { readonly deploymentKey: SQLWrapper; readonly revision: SQLWrapper },
): SQL[] {
  if (!reader.accessScope) return []
  return [
    sql`case when ${row.revision} is null then ${all(visiblePlace(reader, row))}
      else coalesce((select ${all(sawOrigin(reader, left))} from ${changeLog} ${left}
        where ${left.deploymentKey} = ${row.deploymentKey} and ${left.resourceKey} is null
          and (${left.fromTargetKey} is not null or ${left.fromRolloutKey} is not null)
          and ${left.firstRevision} > ${row.revision} order by ${left.firstRevision} limit 1), true) end`,
  ]
}

type Labels = NonNullable<AccessScope['labels']>

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
