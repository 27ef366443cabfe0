/** Everything that happens to a fleet: reports and declarations, and also documents, retirement, standstill and orchestrators. */

import type { Deployment } from '../../../src/domain/deployment.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { type LifecycleState, startsInstance } from '../../../src/domain/orchestration/lifecycle.ts'
import { syncStatuses } from '../../../src/domain/orchestration/resource.ts'
import { deploymentIntentGroup, type LifecycleRolloutName, resourceBundle } from '../../../src/domain/rollout.ts'
import { deploymentStates, readinesses } from '../../../src/domain/values.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../src/ingest/commands/bundle-instance.ts'
import { reportConnectivity } from '../../../src/ingest/commands/connectivity.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { endMaintenance, moveMaintenance, planMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { forgetDeployments, removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { reportResources, reportStateSnapshot } from '../../../src/ingest/commands/resources.ts'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { manifestUpdate } from '../../ingest/commands/desired-model.ts'
import {
  type Act,
  componentNames,
  deploymentIds,
  devices,
  type NextAct,
  type Picker,
  randomAct,
  randomReport,
} from './history.ts'

/** Of instances: EMCO's, and k8splugin's. */
const [contexts, bundles] = [
  ['7001', '7002', '7003'],
  ['b-1', 'b-2'],
] as const
export const instanceIds = [...contexts, ...bundles]
const rollout = deploymentIntentGroup('plant', 'shop', '1.0', 'one') as LifecycleRolloutName

const clusters = ['east', 'west'].map((name) => ({ kind: 'CLUSTER', provider: 'x', name }) as const)

/** A command that is refused changes nothing. */
export const anyAct: NextAct = (pick, known) => {
  const act = known.length === 0 ? update : pick.flip() ? randomAct(pick, known) : otherAct(pick, known)
  return (submit) =>
    act(submit).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error
    })
}

function otherAct(pick: Picker, known: readonly Deployment[]): Act {
  switch (pick.number(16)) {
    case 0:
    case 1:
      return declareDocument(pick)
    case 2: {
      const desired = known.filter(({ documentDigest }) => documentDigest !== null).map(({ key }) => key)
      return (submit) => submit(removeDeployments(desired.slice(0, 1), manifestUpdate))
    }
    case 3:
      return pick.flip() ? retire(pick) : register(pick)
    case 4: {
      const found = known.filter(() => pick.flip()).map(({ key, revision }) => ({ key, revision }))
      return (submit) => submit(markStalled(found))
    }
    case 5: {
      const report = { ...randomReport(pick), seq: null, adoptedManifestVersion: String(1 + pick.number(9)) }
      return (submit) => submit(recordReport(report))
    }
    case 6: {
      const keys = known.filter(() => pick.number(8) === 0).map(({ key }) => key)
      return (submit) => submit(forgetDeployments(keys))
    }
    case 7:
    case 8:
      return actOnRollout(pick)
    case 9:
    case 10:
      return pick.number(3) > 0 ? applyResources(pick) : showResources(pick)
    case 11:
    case 12:
      return tellBundle(pick)
    case 13:
    case 14:
      return maintain(pick)
    default: {
      const target = cluster(pick)
      const to = pick.one(['ONLINE', 'OFFLINE', 'RETRYING'] as const)
      return (submit) => submit(reportConnectivity(target, to))
    }
  }
}

function declareDocument(pick: Picker): Act {
  const deploymentId = pick.one(deploymentIds)
  const content = `${deploymentId} ${pick.number(3)}`
  const declaration = {
    ...{ deviceId: pick.one(devices), deploymentId, components: null },
    ...{ application: pick.one([null, 'shop']), applicationVersion: pick.one([null, '1.0', '1.1']) },
    document: { content, digest: digestOf(content), size: content.length },
  }
  const joined = pick.flip() ? { name: pick.one(['spring', 'summer']), project: null } : null
  return (submit) => submit(declareDeployments(joined, [declaration], manifestUpdate))
}

function retire(pick: Picker): Act {
  const deviceId = pick.one(devices)
  return (submit) =>
    submit(retireDevices([{ deviceId, replacedBy: null }], { reason: 'old', withChildren: true, manifestUpdate }))
}

function register(pick: Picker): Act {
  const device = { deviceId: pick.one(devices), name: null, labels: null, parent: null, expectedInterval: null }
  const tokenHash = `hash${pick.number(1e9)}`
  return (submit) => submit(registerDevices([{ ...device, tokenHash }]))
}

/** Windows that devices and clusters enter and leave, also from one to another. */
export function maintain(pick: Picker): Act {
  const selector = { given: {}, filter: { deviceIds: devices } }
  const times = { beginsAt: 0, endsAt: 4e12, repeat: null, timeZone: 'UTC' }
  const places = [...devices.map((name) => ({ kind: 'DEVICE', provider: '', name }) as const), ...clusters]
  const moved = places.filter(() => pick.number(3) === 0)
  const [isEntered, isNext] = [pick.number(3) > 0, pick.flip()]
  return async (submit) => {
    const plan = { ...times, reason: `no power ${pick.number(3)}`, selector }
    const { key: windowKey } = await submit(planMaintenance(plan, 'an operator'))
    await submit(moveMaintenance(moved.map((target) => ({ target, windowKey: isEntered ? windowKey : null }))))
    if (isNext) await submit(endMaintenance(windowKey, 'an operator'))
  }
}

/** One instance is updated by another: its deployments are in no list any more, and still change. */
const update: Act = async (submit) => {
  const applied = { component: 'api', namespace: null, showable: true, sync: 'APPLIED' } as const
  const items = clusters.map((target) => ({ ...object('r1'), ...applied, target }))
  await submit(
    recordActions(
      rollout,
      begin.map((state) => actionOf(state, contexts[0])),
      'an operator',
    ),
  )
  await submit(reportResources(rollout, contexts[0], items))
  await submit(recordActions(rollout, [actionOf('UPDATED', contexts[1])], 'an operator'))
  await submit(reportResources(rollout, contexts[1], items.slice(0, 1)))
}

const begin = ['CREATED', 'APPROVED', 'INSTANTIATED'] as const

function actionOf(state: LifecycleState, instanceId: string) {
  return {
    ...{ state, instanceId: startsInstance(state) ? instanceId : null },
    ...{ at: null, timestamp: null, compositeProfile: null },
  }
}

function actOnRollout(pick: Picker): Act {
  const states = pick.flip() ? begin : [pick.one<LifecycleState>(['UPDATED', 'UPDATED', 'TERMINATED'])]
  const instanceId = pick.one(contexts)
  const actions = states.map((state) => actionOf(state, instanceId))
  return (submit) => submit(recordActions(rollout, actions, 'an operator'))
}

function applyResources(pick: Picker): Act {
  const context = pick.one(contexts)
  const items = Array.from({ length: 1 + pick.number(4) }, () => ({
    ...{ ...object(pick.one(['r1', 'r2'])), namespace: null },
    ...{ component: pick.one(componentNames), target: cluster(pick), showable: true },
    sync: pick.one([...syncStatuses, 'APPLIED', 'APPLIED'] as const),
  }))
  return (submit) => submit(reportResources(rollout, context, items))
}

function showResources(pick: Picker): Act {
  const context = pick.one(contexts)
  const shown = { component: pick.one(componentNames), target: cluster(pick), objects: someShown(pick, 'r1', 'r2') }
  return (submit) =>
    submit(reportStateSnapshot(rollout, { context, ...shown, uid: null, resourceVersion: null, canShow: () => true }))
}

function tellBundle(pick: Picker): Act {
  const instanceId = pick.one(bundles)
  if (pick.number(6) === 0) return (submit) => submit(removeInstance(instanceId))
  if (pick.number(3) === 0) {
    const objects = someShown(pick, 'ui', 'vault')
    return (submit) => submit(reportInstanceStatus(instanceId, objects))
  }
  const component = pick.one(['edgex', 'edgex', 'other'])
  const fact = {
    ...{ instanceId, component, cloudRegion: `region-${instanceId}`, document: '{}', isEnding: false },
    rollout: resourceBundle(component, pick.one(['v1', 'v2']), 'p'),
    reportedState: pick.one(deploymentStates),
    resources: ['ui', 'vault'].filter(() => pick.flip()).map(object),
  }
  return (submit) => submit(reportInstance(fact))
}

function someShown(pick: Picker, ...names: readonly string[]) {
  return names
    .filter(() => pick.flip())
    .map((name) => ({
      ...object(name),
      assessment: { readiness: pick.one(readinesses), reason: null, message: null },
      detail: null,
    }))
}

function object(name: string) {
  return { group: 'apps', version: 'v1', kind: 'Deployment', name, namespace: 'ns' }
}

function cluster(pick: Picker) {
  return pick.one(clusters)
}
