import type { Readers } from '../../../ingest/dialects/readers.ts'
import type { Session } from '../../../store/database.ts'
import { documentsOf } from '../../../store/read/orchestration/documents.ts'
import { actionsOf, bundleInstances, instanceById, instancesOf } from '../../../store/read/orchestration/instances.ts'
import {
  countResources,
  detailsOf,
  listResources,
  resourcePages,
  sumOfReadiness,
} from '../../../store/read/orchestration/resources.ts'
import { rolloutByName, rolloutsByKey } from '../../../store/read/rollouts/rollouts.ts'

/** What dialects read, from this session, at present. */
export function readersOf(session: Session): Readers {
  return {
    rollout: (name) => rolloutByName(session, name),
    actions: async (key) => (await actionsOf(session, [key], null)).get(key) ?? [],
    instances: async (key) => (await instancesOf(session, [key], null)).get(key) ?? [],
    instance: (instanceId) => instanceById(session, instanceId, null),
    isBundle: async ({ rolloutKey }) =>
      (await rolloutsByKey(session, [rolloutKey], null)).get(rolloutKey)?.kind === 'RESOURCE_BUNDLE',
    bundleInstances: () => bundleInstances(session),
    documents: (keys) => documentsOf(session, keys),
    listedResources: (key, filter, size) => listResources(session, key, filter, size),
    resources: (key, size) => resourcePages(session, key, {}, size),
    async resourceCounts(key, filter) {
      const counts = (await countResources(session, { of: 'instance', keys: [key] }, filter, null)).get(key)
      if (!counts) throw new Error('an instance was not counted')
      return counts
    },
    readiness: async (key) =>
      (await sumOfReadiness(session, { of: 'instance', keys: [key] }, null)).get(key) ?? 'UNKNOWN',
    details: (keys) => detailsOf(session, keys),
  }
}
