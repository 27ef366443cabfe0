/** Saves a batch's changes of rollouts with a lifecycle, one statement a table as in save.ts. */
import { storableJson, storableJsonText } from '../../../domain/text.ts'
import { eachPaced } from '../../../platform/limits/pace.ts'
import { insertOf, updateOf } from '../../sql/record-set.ts'
import { bundles, instances, lifecycleActions, resources, resourceTallies } from '../../tables/schema.ts'
import type { DetailWrite, OrchestrationEffects } from '../contract.ts'
import { type Put, putEach, putRows } from './put.ts'

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

export function* putOrchestration(effects: OrchestrationEffects): Iterable<Put> {
  yield* putEach(insertInstances, updateInstances, effects.instances.values())
  yield* putRows(insertActions, effects.actions)
  yield* putEach(insertResources, updateResources, effects.resources.values())
  yield* putTexts(putDetails, effects.details, 'detail')
  yield* putTexts(putAppliedDetails, effects.details, 'appliedDetail')
  yield* putRows(
    addTallies,
    effects.tallyDeltas.map(({ sync, ...tally }) => ({ ...tally, sync: sync ?? 'NONE' })),
  )
  yield* putRows(putBundles, effects.bundles)
}

function* putTexts(text: string, details: readonly DetailWrite[], of: 'detail' | 'appliedDetail'): Iterable<Put> {
  const written = details.filter(({ [of]: detail }) => detail !== undefined)
  if (written.length > 0) yield textsOf(text, written, of)
}

/** One JSON text of many large ones. */
function* textsOf(text: string, details: readonly DetailWrite[], of: 'detail' | 'appliedDetail'): Put {
  const rows = yield* eachPaced(details, ({ key, [of]: detail }) =>
    storableJson({ key, detail: detail ? storableJsonText(detail.text) : null, isCut: detail?.isCut ?? false }),
  )
  return { text, parameters: [`[${rows.join()}]`] }
}
