/** The subjects of a list or a count of changes, and how to read them. */
import { type SQL, sql } from 'drizzle-orm'
import { type ChangeFilter, subjectsOf } from '../../../domain/nouns/change.ts'
import { isStorable, storableJson } from '../../../domain/text.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { isAnyOf, listParameter } from '../../sql/parameters.ts'
import { changeLog, deploymentNames } from '../../tables/schema.ts'
import {
  type ChangeStretch,
  matchesChangeRow,
  ofComponent,
  ofDeployment,
  ofResource,
  type Range,
  selectBySubject,
  selectChanges,
  selectOfRollout,
} from './rows.ts'
import type { ScanLimits } from './scan.ts'
import { selectParts, termsOf } from './summaries.ts'

/** The subjects. Results are by 0 for the fleet, by key for deployments, rollouts and resources, and for components by the index in `items`. */
export type ChangeScope =
  | { readonly of: 'fleet' }
  | { readonly of: 'deployment' | 'rollout' | 'resource'; readonly keys: readonly number[] }
  | { readonly of: 'component'; readonly items: readonly { readonly deploymentKey: number; readonly name: string }[] }

/** Whether the log must be scanned. */
function isScan({ accessScope }: Pick<Session, 'accessScope'>, scope: ChangeScope, filter: ChangeFilter): boolean {
  const asksForSome = accessScope !== undefined || presentFields(filter).length > 0
  return scope.of === 'fleet' && asksForSome && subjectsOf(filter) === null
}

/**
 * How the changes are found:
 *
 *   subjects   the entries of the subjects, which indexes have
 *   parts      those of rollouts with many entries, in the parts of the log that have what the filter asks for: few of them may match
 *   scan       all entries in order. Also for a deployment ID that many devices use: to look each of these deployments up would take seconds
 */
export async function waysOf(
  session: Session,
  scope: ChangeScope,
  filter: ChangeFilter,
  { ofRollouts, deployments: mostDeployments }: ScanLimits,
): Promise<'subjects' | 'parts' | 'scan'> {
  if (isScan(session, scope, filter)) return 'scan'
  const { rolloutKeys, deploymentIds, deviceIds, instanceIds } = (scope.of === 'fleet' && subjectsOf(filter)) || {}
  if (deploymentIds) {
    const named = sql`select 1 from ${deploymentNames} where ${isAnyOf(deploymentNames.deploymentId, deploymentIds, 'text')}`
    return (await countUpTo(session, named, mostDeployments + 1)) > mostDeployments ? 'scan' : 'subjects'
  }
  if (!rolloutKeys || deviceIds || instanceIds || termsOf(filter).length === 0) return 'subjects'
  return (await entriesOfRollouts(session, rolloutKeys, ofRollouts + 1)) > ofRollouts ? 'parts' : 'subjects'
}

/** Those that begin in the range, at most `most`. */
export function entriesOfRollouts(
  session: Session,
  keys: readonly number[],
  most: number,
  range: Range = { from: null, to: null },
): Promise<number> {
  return countUpTo(session, entriesOf(sql`select unnest(${listParameter(keys, 'bigint')}) as key`, range, most), most)
}

/** The condition that the rollouts with these keys have at most so many entries that begin in the range. */
export function hasAtMost(most: number, keys: SQL, range: Range): SQL {
  return sql`(select count(*) from (${entriesOf(keys, range, most + 1)} limit ${most + 1}) as entry) <= ${most}`
}

function entriesOf(keys: SQL, { from, to }: Range, most: number): SQL {
  const isWithin = sql`${changeLog.firstRevision} between ${from ?? 0}::bigint and ${to ?? Number.MAX_SAFE_INTEGER}::bigint`
  return sql`select 1 from (${keys}) as named(key) cross join lateral (
    select 1 from ${changeLog} where ${changeLog.rolloutKey} = named.key and ${isWithin} limit ${most}) as entry`
}

async function countUpTo(session: Session, rows: SQL, most: number): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from (${rows} limit ${most}) as counted`,
  )
  return row?.n ?? 0
}

export function selectOfParent(
  reader: Pick<Session, 'accessScope'>,
  scope: ChangeScope,
  filter: ChangeFilter,
  stretch: ChangeStretch,
  byParts = false,
): SQL {
  const subjects = scope.of === 'fleet' ? subjectsOf(filter) : null
  const parts = byParts ? selectParts(filter, stretch, stretch.reversed) : null
  if (subjects) return selectBySubject(reader, stretch, filter, subjects, parts)
  if (scope.of === 'rollout') return selectOfRollout(reader, sql`parent.key`, filter, stretch)
  if (scope.of === 'resource')
    return selectChanges(stretch, [ofResource(sql`parent.key`), ...matchesChangeRow(reader, filter)])
  const isSubject = scope.of === 'fleet' ? [] : [ofDeployment(sql`parent.deployment_key`)]
  const isComponent = scope.of === 'component' ? [ofComponent(sql`parent.name`)] : []
  return selectChanges(stretch, [...isSubject, ...isComponent, ...matchesChangeRow(reader, filter)])
}

interface Parent {
  readonly key: number
  readonly deployment_key?: number
  readonly name?: string
}

export function parentsOf(scope: ChangeScope): readonly Parent[] {
  switch (scope.of) {
    case 'fleet':
      return [{ key: 0 }]
    case 'rollout':
    case 'resource':
      return [...new Set(scope.keys)].map((key) => ({ key }))
    case 'deployment':
      return [...new Set(scope.keys)].map((key) => ({ key, deployment_key: key }))
    case 'component':
      return scope.items.map(({ deploymentKey, name }, key) => ({ key, deployment_key: deploymentKey, name }))
  }
}

export function fromParents(scope: ChangeScope): SQL {
  const parents = parentsOf(scope).filter(({ name }) => name === undefined || isStorable(name))
  const [only] = parents
  if (only && parents.length === 1)
    return sql`(select ${only.key}::bigint as key, ${only.deployment_key ?? null}::bigint as deployment_key, ${only.name ?? null}::text as name) as parent`
  return sql`json_to_recordset(${storableJson(parents)}::text::json) as parent(key bigint, deployment_key bigint, name text)`
}
