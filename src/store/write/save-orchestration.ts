/** Saves a batch's changes of rollouts with a lifecycle, one statement a table as in save.ts. */
import { storableJson, storableJsonText } from '../../domain/text.ts'
import type { Session } from '../database.ts'
import { insertOf, updateOf, type Write } from '../sql/record-set.ts'
import { bundles, instances, lifecycleActions, resources, resourceTallies } from '../tables/schema.ts'
import type { OrchestrationEffects } from './contract.ts'

const insertInstances = insertOf(instances, { except: ['document'] })
const updateInstances = updateOf(instances, {
  set: (field) =>
    [
      'rolloutKey',
      'status',
      'goal',
      'reportedState',
      'hasFailed',
      'isCurrent',
      'successorKey',
      'statusContext',
      'revision',
    ].includes(field),
})
const insertActions = insertOf(lifecycleActions)
const insertResources = insertOf(resources)
const resourceIdentity = [
  'rolloutKey',
  'instanceKey',
  'deploymentKey',
  'targetKey',
  'component',
  'group',
  'kind',
  'name',
]
const updateResources = updateOf(resources, { set: (field) => !resourceIdentity.includes(field) })
const addTallies = insertOf(resourceTallies, {
  more: `on conflict (owner_key, component, sync, presence, readiness, showable) do update set n = resource_tallies.n + excluded.n`,
})
const putBundles = insertOf(bundles, {
  more: `on conflict (instance_key, target_key, component) do update
    set uid = excluded.uid, resource_version = excluded.resource_version, received_at = excluded.received_at`,
})
/** The objects as texts, which only the database parses. */
const details = `json_to_recordset($1::text::json) as x(key bigint, detail text, "isCut" boolean)`
const putDetails = `insert into resource_details (key, detail, detail_cut) select key, detail::json, "isCut" from ${details}
  on conflict (key) do update set detail = excluded.detail, detail_cut = excluded.detail_cut`
const putAppliedDetails = `insert into resource_details (key, applied_detail, applied_detail_cut)
  select key, detail::json, "isCut" from ${details}
  on conflict (key) do update set applied_detail = excluded.applied_detail, applied_detail_cut = excluded.applied_detail_cut`

export function saveOrchestration(session: Session, effects: OrchestrationEffects): Promise<unknown>[] {
  const put = <Row extends object>(write: Write<Row>, rows: readonly Row[]): Promise<unknown>[] =>
    rows.length === 0 ? [] : [session.run(write.text, write.parameters(rows))]
  const putEach = <Row extends object>(
    insert: Write<Row>,
    update: Write<Row>,
    touched: Iterable<{ readonly row: Row; readonly isNew: boolean }>,
  ): Promise<unknown>[] => {
    const all = [...touched]
    return [
      ...put(
        insert,
        all.filter(({ isNew }) => isNew).map(({ row }) => row),
      ),
      ...put(
        update,
        all.filter(({ isNew }) => !isNew).map(({ row }) => row),
      ),
    ]
  }
  const putTexts = (text: string, of: 'detail' | 'appliedDetail'): Promise<unknown>[] => {
    const rows = effects.details.flatMap(({ key, [of]: detail }) =>
      detail === undefined
        ? []
        : [{ key, detail: detail ? storableJsonText(detail.text) : null, isCut: detail?.isCut ?? false }],
    )
    return rows.length === 0 ? [] : [session.run(text, [storableJson(rows)])]
  }
  return [
    ...putEach(insertInstances, updateInstances, effects.instances.values()),
    ...put(insertActions, effects.actions),
    ...putEach(insertResources, updateResources, effects.resources.values()),
    ...putTexts(putDetails, 'detail'),
    ...putTexts(putAppliedDetails, 'appliedDetail'),
    ...put(
      addTallies,
      effects.tallyDeltas.map(({ sync, ...tally }) => ({ ...tally, sync: sync ?? 'NONE' })),
    ),
    ...put(putBundles, effects.bundles),
  ]
}
