/** The subjects of a list or a count of changes, and how to read them. */
import { type SQL, sql } from 'drizzle-orm'
import { type ChangeFilter, subjectsOf } from '../../../domain/change.ts'
import { isStorable, storableJson } from '../../../domain/text.ts'
import type { Session } from '../../database.ts'
import { listParameter } from '../../sql/parameters.ts'
import { changeLog } from '../../tables/schema.ts'
import { presentFields } from '../deployment-filter.ts'
import {
  type ChangeStretch,
  matchesChangeRow,
  ofComponent,
  ofDeployment,
  ofResource,
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
export function isScan(
  { accessScope }: Pick<Session, 'accessScope'>,
  scope: ChangeScope,
  filter: ChangeFilter,
): boolean {
  const asksForSome = accessScope !== undefined || presentFields(filter).length > 0
  return scope.of === 'fleet' && asksForSome && subjectsOf(filter) === null
}

/**
 * Whether the changes of the rollouts that a filter names are found by the summaries of the log: they have many, and few of them may match. The entries of
 * other subjects are few.
 */
export async function isByParts(
  session: Session,
  scope: ChangeScope,
  filter: ChangeFilter,
  { ofRollouts: most }: ScanLimits,
): Promise<boolean> {
  const subjects = scope.of === 'fleet' ? subjectsOf(filter) : null
  const { rolloutKeys, deploymentIds, deviceIds, instanceIds } = subjects ?? {}
  if (!rolloutKeys || deploymentIds || deviceIds || instanceIds || termsOf(filter).length === 0) return false
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from (select 1 from (select unnest(${listParameter(rolloutKeys, 'bigint')})) as named(key)
      cross join lateral (select 1 from ${changeLog} where ${changeLog.rolloutKey} = named.key limit ${most + 1}) as entry limit ${most + 1}) as entries`,
  )
  return row !== undefined && row.n > most
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
