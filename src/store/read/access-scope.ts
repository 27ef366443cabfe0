/**
 * Access scopes: what a restricted reader sees. A session carries the reader's access scope, and every statement about the fleet applies
 * the conditions of this file:
 *
 *   a deployment, its components,                    the labels of its target and the project of its rollout;
 *   reports and resources                            in the past: of its target and rollout at that time
 *   a target                                         its labels; by project: it has a deployment of the project
 *   a rollout, an instance                           its project; by label: it has a deployment on a target with the label; of a rollout
 *                                                    that the reader no longer sees, the past up to when its last one left
 *   an alert                                         the project of its rollout. A reader that labels restrict sees none: it sees only
 *                                                    a part of the deployments that the alert counts
 *   a change                                         the place of its subject after the change. The place before it, and the state
 *                                                    there, are left out if the reader does not see that place
 *
 * What was reported about a deployment on a former target is never part of its present state (movedTo in domain/deployment.ts).
 * Labels have no history: the present ones always apply. A target that is visible only because of the past shows nothing but its name.
 * Stored counters cover the whole fleet, so the counts of a restricted reader are counted from rows.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { AccessScope } from '../../domain/access-scope.ts'
import type { Change } from '../../domain/change.ts'
import { storableJson } from '../../domain/text.ts'
import type { Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { all, either, hasAnyLabel, isAnyOf } from '../sql/parameters.ts'
import { changeLog, deployments, rollouts, targets } from '../tables/schema.ts'

type Reader = Pick<Session, 'accessScope'>

const labelled = alias(targets, 'labelled')
const ours = alias(rollouts, 'ours')
const hosted = alias(deployments, 'hosted')
const left = alias(changeLog, 'left_place')

/** The same session with an access scope. */
export function withScope<S extends Session>(session: S, accessScope: AccessScope | null): S {
  if (accessScope === null) return session
  const own = { rows: session.rows.bind(session), run: session.run.bind(session), accessScope }
  return Object.assign(Object.create(session) as S, own)
}

interface Place {
  readonly targetKey: SQLWrapper
  readonly rolloutKey: SQLWrapper
}

/** How the planner may check that a key is among others: beginning with those, or only by a lookup of each row. */
type Reach = (key: SQLWrapper, keys: SQL) => SQL

const isAmong: Reach = (key, keys) => sql`${key} in (${keys})`

/** Rows that a walk reads in order keep it. A join with the others could begin with those. */
export const isFound: Reach = (key, keys) =>
  sql`exists (select 1 from (${keys}) as visible(key) where visible.key = ${key} offset 0)`

/** For deployments, and rows that belong to them. */
export function visiblePlace({ accessScope }: Reader, { targetKey, rolloutKey }: Place, reach: Reach = isAmong): SQL[] {
  return [
    ...(accessScope?.labels ? [reach(targetKey, labelledTargets(accessScope.labels))] : []),
    ...(accessScope?.projects ? [reach(rolloutKey, rolloutsOf(accessScope.projects))] : []),
  ]
}

/** `ever`: at present or at any time in the past. */
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

/** `since`: the reader sees it now, or saw it then or later. Null: now. */
export function visibleRollout(
  { accessScope }: Reader,
  row: { readonly key: SQLWrapper; readonly project: SQLWrapper },
  since: Revision | null = null,
): SQL[] {
  return [
    ...(accessScope?.projects ? [isAnyOf(row.project, accessScope.projects, 'text')] : []),
    ...(accessScope?.labels ? [isOnLabelled(row.key, accessScope.labels, since)] : []),
  ]
}

/** Deployments of orchestrators never move, so their present place is their only one. */
export function visibleInstance(
  { accessScope }: Reader,
  row: { readonly key: SQLWrapper; readonly rolloutKey: SQLWrapper },
): SQL[] {
  return [
    ...(accessScope?.projects ? [sql`${row.rolloutKey} in (${rolloutsOf(accessScope.projects)})`] : []),
    ...(accessScope?.labels ? [sql`${row.key} in (${instancesOn(accessScope.labels)})`] : []),
  ]
}

/** An alert of the whole fleet has the rollout 0, which no project has. */
export function visibleAlert({ accessScope }: Reader, { rolloutKey }: Pick<Place, 'rolloutKey'>): SQL[] {
  return [
    ...(accessScope?.labels ? [sql`false`] : []),
    ...(accessScope?.projects ? [sql`${rolloutKey} in (${rolloutsOf(accessScope.projects)})`] : []),
  ]
}

interface Subject extends Place {
  readonly instanceKey: SQLWrapper
}

/** For entries of the log: the place after the entry. */
export function visibleSubject({ accessScope }: Reader, { targetKey, rolloutKey, instanceKey }: Subject): SQL[] {
  if (!accessScope) return []
  const { labels, projects } = accessScope
  return [
    ...(labels
      ? [
          sql`case when ${targetKey} is not null then ${targetKey} in (${labelledTargets(labels)})
            when ${instanceKey} is not null then ${instanceKey} in (${instancesOn(labels)})
            else ${isOnLabelled(sql`${rolloutKey}`, labels, null)} end`,
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

interface VisibleChange {
  /** Null: the reader does not see it. Its origin is left out if the reader does not see that. */
  readonly change: Change | null
  /** Whether a subject changed that the reader sees or saw. */
  readonly concerns: boolean
}

/** The changes as the reader sees them, by the present labels and projects. */
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
  const hidesAlerts = session.accessScope.labels !== null
  return numbered.map(({ change, after, before }) => {
    if (hidesAlerts && isOfAlert(change)) return { change: null, concerns: false }
    return {
      change: seen.has(after) ? (seen.has(before) ? change : withoutOrigin(change)) : null,
      concerns: seen.has(after) || seen.has(before),
    }
  })
}

function isOfAlert({ kind }: Change): boolean {
  return kind === 'ALERT_RAISED' || kind === 'ALERT_RESOLVED' || kind === 'ALERT_ACKNOWLEDGED'
}

/** Null: the change only describes the former place. */
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
    case 'DEPLOYMENT_REVISED': {
      const { from: _, ...here } = hidden
      return here
    }
    default:
      return hidden
  }
}

/** No target has this key. */
const noTarget = 0

/** The same in SQL: whether the change remains if the reader does not see the origin of `entry`. */
export function tellsOfHere(reader: Reader, change: SQLWrapper, entry: Subject & Origin): SQL[] {
  if (!reader.accessScope) return []
  const isHere = sql`${entry.fromTargetKey} is null and ${entry.fromRolloutKey} is null`
  return [
    either([sql`${change} ->> 'kind' <> 'COMPONENT_REMOVED'`, isHere, all(sawOrigin(reader, entry))]),
    ...(reader.accessScope.labels ? [sql`${change} ->> 'kind' not like 'ALERT_%'`] : []),
  ]
}

interface Origin {
  readonly fromTargetKey: SQLWrapper
  readonly fromRolloutKey: SQLWrapper
}

/** The place of an entry's subject before the entry. */
export function sawOrigin(reader: Reader, entry: Subject & Origin): SQL[] {
  return visiblePlace(reader, {
    targetKey: sql`coalesce(${entry.fromTargetKey}, ${entry.targetKey})`,
    rolloutKey: sql`coalesce(${entry.fromRolloutKey}, ${entry.rolloutKey})`,
  })
}

/**
 * For reports: the reader sees the place of the deployment at the time of the report. The next entry that moved the deployment has that
 * place; without one, it is the present place, which the reader of a deployment's reports sees. A STALE report made no revision and may be from a former target, so it has its own place.
 */
export function visibleReport(
  reader: Reader,
  row: Place & { readonly deploymentKey: SQLWrapper; readonly revision: SQLWrapper },
  parent: 'visible' | 'any' = 'visible',
): SQL[] {
  if (!reader.accessScope) return []
  const isHere =
    parent === 'visible'
      ? sql`true`
      : sql`exists (select 1 from ${deployments} ${hosted}
          where ${hosted.key} = ${row.deploymentKey} and ${all(visiblePlace(reader, hosted))})`
  return [
    sql`case when ${row.revision} is null then ${all(visiblePlace(reader, row))}
      else coalesce((select ${all(sawOrigin(reader, left))} from ${changeLog} ${left}
        where ${left.deploymentKey} = ${row.deploymentKey} and ${left.resourceKey} is null
          and (${left.fromTargetKey} is not null or ${left.fromRolloutKey} is not null)
          and ${left.firstRevision} > ${row.revision} order by ${left.firstRevision} limit 1), ${isHere}) end`,
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

function isOnLabelled(rollout: SQLWrapper, labels: Labels, since: Revision | null): SQL {
  const there = labelledTargets(labels)
  const now = sql`${rollout} in (select ${hosted.rolloutKey} from ${deployments} ${hosted} where ${hosted.targetKey} in (${there}))`
  if (since === null) return now
  // The change that moved the last deployment away shows where it was, so its own revision counts, too.
  const isLater = sql`${left.lastRevision} >= ${since}::bigint`
  return either([
    now,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromRolloutKey} = ${rollout} and coalesce(${left.fromTargetKey}, ${left.targetKey}) in (${there}) and ${isLater})`,
    sql`exists (select 1 from ${changeLog} ${left}
      where ${left.fromTargetKey} in (${there}) and coalesce(${left.fromRolloutKey}, ${left.rolloutKey}) = ${rollout} and ${isLater})`,
  ])
}
