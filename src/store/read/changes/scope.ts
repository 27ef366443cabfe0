/** The subjects of a list or a count of changes, and how to read them. */
import { type SQL, sql } from 'drizzle-orm'
import { type ChangeFilter, subjectsOf } from '../../../domain/change.ts'
import { isStorable, storableJson } from '../../../domain/text.ts'
import type { Session } from '../../database.ts'
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

export function selectOfParent(
  reader: Pick<Session, 'accessScope'>,
  scope: ChangeScope,
  filter: ChangeFilter,
  stretch: ChangeStretch,
): SQL {
  const subjects = scope.of === 'fleet' ? subjectsOf(filter) : null
  if (subjects) return selectBySubject(reader, stretch, filter, subjects)
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
