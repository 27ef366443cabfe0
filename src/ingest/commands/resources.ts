/** Resources that an orchestrator applies and that a cluster shows: one model, two sources (docs/wire.md §2.3). */
import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { AppliedResource, Outcomes, StateSnapshot } from '../../domain/orchestration/orchestrated-facts.ts'
import type { Resource } from '../../domain/orchestration/resource.ts'
import type { Verdict } from '../../domain/report.ts'
import type { LifecycleRolloutName, Rollout } from '../../domain/rollout.ts'
import type { TargetName } from '../../domain/target.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { Command } from '../command.ts'
import { inParts, partSize } from '../command-parts.ts'
import { deriveDeployment, deriveInstance, type InstanceOnTarget, latestOf } from '../derived-states.ts'
import { assess, blankResource, matchResource, putResource } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { applySnapshot, deploymentKeyOf, partNeeds, writeSnapshot } from './component-snapshot.ts'

/** Applies resources by rollout and AppContext. Their sum is computed at the end of the call. */
export function reportResources(
  name: LifecycleRolloutName,
  instanceId: string,
  items: readonly AppliedResource[],
): Command<Outcomes['resources']> {
  const hasFailed = items.some(({ sync }) => sync === 'FAILED')
  if (items.length <= partSize)
    return reportPart(name, instanceId, { items, hasFailed, begun: null, isContinued: false, isLast: true })
  return inParts(async (write) => {
    const places = items.map((item, index) => ({ item, index, place: JSON.stringify(item.target) }))
    // By target: the state of a deployment is computed once, after its last resource.
    const ordered = [...Map.groupBy(places, ({ place }) => place).values()].flat()
    const verdicts: Verdict[] = []
    let [revision, begun]: [number, number | null] = [0, null]
    for (let first = 0; first < ordered.length; first += partSize) {
      const part = ordered.slice(first, first + partSize)
      const next = ordered[first + partSize]
      const written: PartReported = await write(
        reportPart(name, instanceId, {
          items: part.map(({ item }) => item),
          hasFailed,
          begun,
          isContinued: next !== undefined && next.place === part.at(-1)?.place,
          isLast: next === undefined,
        }),
      )
      part.forEach(({ index }, n) => {
        const verdict = written.verdicts[n]
        if (verdict) verdicts[index] = verdict
      })
      revision = written.revision
      begun = written.begun
    }
    return { revision, verdicts }
  })
}

/** A part of the resources of a command. */
interface ReportedPart {
  readonly items: readonly AppliedResource[]
  /** Whether any resource of the command has failed. */
  readonly hasFailed: boolean
  /** The key of the deployment on the first target, if an earlier part has resources of it. */
  readonly begun: number | null
  /** Whether the next part has resources of the last target. */
  readonly isContinued: boolean
  readonly isLast: boolean
}

type PartReported = Outcomes['resources'] & {
  /** The key of the deployment that is continued. */
  readonly begun: number | null
}

function reportPart(name: LifecycleRolloutName, instanceId: string, part: ReportedPart): Command<PartReported> {
  const { items, begun } = part
  const components = componentsOf(items)
  const target = items[0]?.target
  const continued = begun === null ? [] : components.filter((one) => isSame(one.target, target))
  const resources = continued.map(({ component, names }) => ({
    ...{ deploymentKey: begun ?? 0, component },
    wanted: { names },
  }))
  return {
    needs: {
      rollouts: [name],
      targets: components.map(({ target }) => target),
      orchestrated: [{ rollout: name, contexts: [instanceId], components, resources }],
    },
    decide: (work) => applyPart(work, name, instanceId, part),
  }
}

function* applyPart(
  work: UnitOfWork,
  name: LifecycleRolloutName,
  instanceId: string,
  { items, hasFailed, begun, isContinued, isLast }: ReportedPart,
): Paced<PartReported> {
  const { rollout, instances } = requireInstances(work, name, instanceId, 'own')
  const [instance] = instances
  if (!instance) throw notYet(`it has no instance ${instanceId} yet`)
  const target = items[0]?.target
  const touched = new Map<number, number>()
  if (begun !== null && target) touched.set(work.ensureTarget(target.kind, target.provider, target.name).key, begun)
  const verdicts = yield* eachPaced(items, (item) => applyItem(work, rollout, instance, item, touched))
  if (!instance.hasFailed && hasFailed) work.orchestration.putInstance({ ...instance, hasFailed: true })
  const last = isContinued ? [...touched].at(-1) : undefined
  if (last) touched.delete(last[0])
  for (const [targetKey, deploymentKey] of touched) {
    deriveDeployment(work, latestOf(work, { rollout, instance, targetKey, deploymentKey }))
    yield
  }
  if (isLast) deriveInstance(work, rollout.key, instance.key)
  return { revision: work.revision(), verdicts, begun: last?.[1] ?? null }
}

function isSame(a: TargetName, b: TargetName | undefined): boolean {
  return a.kind === b?.kind && a.provider === b.provider && a.name === b.name
}

function componentsOf(items: readonly AppliedResource[]) {
  const places = new Map<string, { target: TargetName; component: string; names: Set<string> }>()
  for (const { target, component, name } of items) {
    const id = JSON.stringify([target, component])
    const place = places.get(id) ?? { target, component, names: new Set<string>() }
    places.set(id, place)
    place.names.add(name)
  }
  return [...places.values()].map((place) => ({ ...place, names: [...place.names] }))
}

/** Applies a cluster's snapshot of a component to the newest instance of its context, and to the instances that it updated. */
export function reportStateSnapshot(
  name: LifecycleRolloutName,
  snapshot: StateSnapshot,
): Command<{ readonly revision: number; readonly verdict: Verdict }> {
  const { context, target, component } = snapshot
  const place = (names: 'all' | readonly string[]) => ({
    rollout: name,
    contexts: [context],
    components: [{ target, component, names }],
  })
  const needs = { rollouts: [name], targets: [target] }
  if (snapshot.objects.length <= partSize)
    return {
      needs: { ...needs, orchestrated: [place('all')] },
      decide: (work) => applyStateSnapshot(work, name, snapshot),
    }
  return inParts(async (write) => {
    const partsNeed = partNeeds(needs, place([]))
    const keys = await write({
      needs: partsNeed([]),
      decide: (work) => requireInstances(work, name, context, 'shared').instances.map(({ key }) => key),
    })
    const verdicts: Verdict[] = []
    let revision = 0
    for (const key of keys) {
      const placeIn = (work: UnitOfWork, deploymentKey: number | null): InstanceOnTarget => {
        const { rollout, instances } = requireInstances(work, name, context, 'shared')
        const instance = instances.find((one) => one.key === key)
        if (!instance) throw new Error(`instance ${key} was not loaded`)
        const targetKey = targetKeyOf(work, target)
        return {
          ...{ rollout, instance, targetKey },
          deploymentKey: deploymentKey ?? deploymentKeyOf(work, instance, targetKey),
        }
      }
      const written = await writeSnapshot(write, partsNeed, placeIn, snapshot)
      verdicts.push(written.verdict)
      revision = written.revision
    }
    return { revision, verdict: strongest(verdicts) }
  })
}

function* applyStateSnapshot(
  work: UnitOfWork,
  name: LifecycleRolloutName,
  snapshot: StateSnapshot,
): Paced<{ readonly revision: number; readonly verdict: Verdict }> {
  const { rollout, instances } = requireInstances(work, name, snapshot.context, 'shared')
  const targetKey = targetKeyOf(work, snapshot.target)
  const verdicts: Verdict[] = []
  for (const instance of instances) {
    const deploymentKey = deploymentKeyOf(work, instance, targetKey)
    verdicts.push(yield* applySnapshot(work, { rollout, instance, targetKey, deploymentKey }, snapshot))
  }
  return { revision: work.revision(), verdict: strongest(verdicts) }
}

function targetKeyOf(work: UnitOfWork, { kind, provider, name }: TargetName): number {
  return work.ensureTarget(kind, provider, name).key
}

function requireInstances(
  work: UnitOfWork,
  name: LifecycleRolloutName,
  context: string,
  how: 'own' | 'shared',
): { readonly rollout: Rollout; readonly instances: readonly Instance[] } {
  const rollout = work.rollout(name)
  if (!rollout) throw notYet('there is no such rollout yet: its first action, Created, makes it')
  const instances = work.orchestration
    .instancesOf(rollout.key)
    .filter((one) => one.instanceId === context || (how === 'shared' && one.statusContext === context))
  if (instances.length === 0) throw notYet(`it has no instance ${context} yet: an action that names it makes it`)
  return { rollout, instances }
}

/** Facts may overtake the action that creates their instance. */
function notYet(message: string): DomainError {
  return new DomainError('NOT_FOUND_YET', message)
}

/** `touched`: the deployments' keys by target. Their sums are computed later. */
function applyItem(
  work: UnitOfWork,
  rollout: Rollout,
  instance: Instance,
  item: AppliedResource,
  touched: Map<number, number>,
): Verdict {
  const target = work.ensureTarget(item.target.kind, item.target.provider, item.target.name)
  const deploymentKey = touched.get(target.key) ?? deploymentKeyOf(work, instance, target.key)
  touched.set(target.key, deploymentKey)
  const known = matchResource(work.orchestration.resourcesLike(deploymentKey, item.component, item), item)
  const seen = work.orchestration.bundle(instance.key, target.key, item.component) !== null
  const base = known ?? {
    ...blankResource(work.newKey(), { rollout, instance, targetKey: target.key, deploymentKey }, item),
    showable: item.showable,
  }
  const presence = base.presence === 'UNKNOWN' && seen && base.showable ? 'NOT_PRESENT' : base.presence
  const next: Resource = {
    ...base,
    version: item.version || base.version,
    namespace: base.namespace ?? item.namespace,
    sync: item.sync,
    presence,
    goneAt: null,
    appliedDetailHash: item.detail === undefined ? base.appliedDetailHash : (item.detail?.hash ?? null),
  }
  return putResource(work, instance, known, assess(next, base), { appliedDetail: item.detail })
}

function strongest(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('APPLIED')) return 'APPLIED'
  return verdicts.includes('UNCHANGED') ? 'UNCHANGED' : 'STALE'
}
