import { afterAll, beforeAll } from 'vitest'
import type { LifecycleState } from '../../../src/domain/orchestration/lifecycle.ts'
import type {
  ActionFact,
  AppliedResource,
  ObservedObject,
} from '../../../src/domain/orchestration/orchestrated-facts.ts'
import type { SyncStatus } from '../../../src/domain/orchestration/resource.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { reportStateSnapshot } from '../../../src/ingest/commands/resources.ts'
import { toDetail } from '../../../src/ingest/dialects/kubernetes/detail.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { rolloutByKeyArgs } from '../../../src/store/read/rollouts/rollouts.ts'
import type { Store } from '../../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../../support/servers/road.ts'

export const edge01 = { kind: 'CLUSTER', provider: 'p', name: 'edge01' } as const

export function useOrchestration(store: Store) {
  let road: Road
  let count = 0

  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  /** A rollout of its own for each test, with the contexts of its instances. */
  function rolloutNamed(): { name: LifecycleRolloutName; a: string; b: string } {
    count += 1
    const name = deploymentIntentGroup('project', 'app', 'v1', `dig${count}`) as LifecycleRolloutName
    return { name, a: `${count}01`, b: `${count}02` }
  }
  const act = (name: LifecycleRolloutName, ...actions: readonly (LifecycleState | [LifecycleState, string])[]) =>
    road.writer.submit(
      recordActions(
        name,
        actions.map((action): ActionFact => {
          const [state, instanceId] = typeof action === 'string' ? [action, null] : action
          return { state, instanceId, at: null, timestamp: null, compositeProfile: null }
        }),
        'an operator',
      ),
    )
  const applied = (name: string, sync: SyncStatus, more: Partial<AppliedResource> = {}): AppliedResource => ({
    component: 'sink',
    target: edge01,
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    name,
    namespace: null,
    sync,
    showable: true,
    ...more,
  })
  const observed = (name: string, more: Partial<ObservedObject> = {}): ObservedObject => ({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    name,
    namespace: 'default',
    assessment: { readiness: 'READY', reason: null, message: null },
    detail: toDetail({ kind: 'Deployment', metadata: { name } }),
    ...more,
  })
  const snapshot = (
    name: LifecycleRolloutName,
    context: string,
    resourceVersion: string | null,
    objects: readonly ObservedObject[],
  ) =>
    road.writer.submit(
      reportStateSnapshot(name, {
        context,
        component: 'sink',
        target: edge01,
        uid: null,
        resourceVersion,
        objects,
        canShow: (_, kind) => kind !== 'Network',
      }),
    )
  const session = () => road.database.session
  const rollout = async (name: LifecycleRolloutName) => {
    const found = await rolloutByKeyArgs(session(), name, null)
    if (!found) throw new Error('no such rollout')
    return found
  }
  const head = async () => (await readHead(session())).revision
  const since = async (revision: number) => (await readLog(session(), revision, 1000)).map((change) => change.kind)
  return { road: () => road, rolloutNamed, act, applied, observed, snapshot, session, rollout, head, since }
}
