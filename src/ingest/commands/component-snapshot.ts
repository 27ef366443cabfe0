/**
 * A cluster's snapshot of a component. Resources that it lists are present, and those that it does not list do not exist there.
 *
 *   noteSnapshot   the snapshot is noted. An older one is STALE
 *   putObserved    each listed object
 *   putMissing     each other resource of the component
 *   deriveStates   the sums: the states of the deployment, the instance and the rollout
 *
 * A small snapshot is one unit of work. A large one is written in parts (divided-write.ts), with the same steps.
 */
import { presentGroup } from '../../domain/orchestration/api-group.ts'
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { ComponentSnapshot, ObjectName, ObservedObject } from '../../domain/orchestration/orchestrated-facts.ts'
import type { Resource } from '../../domain/orchestration/resource.ts'
import type { Verdict } from '../../domain/report.ts'
import { eachPaced, type Paced } from '../../platform/limits/pace.ts'
import type { Needs, OrchestratedNeed, ResourceNeed } from '../../store/write/needs.ts'
import type { WritePart } from '../command.ts'
import { eachPart, partSize } from '../command-parts.ts'
import { deriveDeployment, deriveInstance, type InstanceOnTarget, latestOf } from '../derived-states.ts'
import { assess, blankResource, matchListed, matchResource, putResource, withAssessment } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

export function* applySnapshot(work: UnitOfWork, place: InstanceOnTarget, snapshot: ComponentSnapshot): Paced<Verdict> {
  const before = work.revision()
  if (!noteSnapshot(work, place, snapshot)) return 'STALE'
  const listed = new Set(yield* eachPaced(snapshot.objects, (object) => putObserved(work, place, snapshot, object)))
  const canShow = shownBy(snapshot)
  for (const known of work.orchestration.resourcesOf(place.deploymentKey, listedIn(snapshot))) {
    if (!listed.has(known.key)) putMissing(work, place, known, canShow)
    yield
  }
  deriveStates(work, place)
  return work.revision() > before ? 'APPLIED' : 'UNCHANGED'
}

/** `needs` and `placeIn` give the instance and its deployment in each part. */
export async function writeSnapshot(
  write: WritePart,
  needs: PartNeeds,
  placeIn: (work: UnitOfWork, deploymentKey: number | null) => InstanceOnTarget,
  snapshot: ComponentSnapshot,
): Promise<{ readonly revision: number; readonly verdict: Verdict }> {
  const begun = await write({
    needs: needs([]),
    decide(work) {
      const place = placeIn(work, null)
      const before = work.revision()
      return { before, deploymentKey: place.deploymentKey, isNew: noteSnapshot(work, place, snapshot) }
    },
  })
  const { before, deploymentKey } = begun
  if (!begun.isNew) return { revision: before, verdict: 'STALE' }
  const canShow = shownBy(snapshot)
  const revision = await writeResources(
    write,
    needs,
    { deploymentKey, component: snapshot.component, listedIn: listedIn(snapshot) },
    snapshot.objects,
    {
      placeIn: (work) => placeIn(work, deploymentKey),
      put: (work, place, object) => putObserved(work, place, snapshot, object),
      putMissing: (work, place, known) => putMissing(work, place, known, canShow),
    },
  )
  return { revision, verdict: revision > before ? 'APPLIED' : 'UNCHANGED' }
}

/** The needs of a part: those of its command, and these resources. */
type PartNeeds = (resources: readonly ResourceNeed[]) => Needs

export function partNeeds(needs: Needs, orchestrated: OrchestratedNeed): PartNeeds {
  return (resources) => ({ ...needs, orchestrated: [{ ...orchestrated, resources }] })
}

interface ResourceSteps<Item> {
  placeIn(work: UnitOfWork): InstanceOnTarget
  /** Returns the key of the item's resource. */
  put(work: UnitOfWork, place: InstanceOnTarget, item: Item): number
  /** A resource of the component that no item lists. */
  putMissing(work: UnitOfWork, place: InstanceOnTarget, known: Resource): void
}

interface ResourceList {
  readonly deploymentKey: number
  readonly component: string
  /** The component of which the list is complete. Null: of all. */
  readonly listedIn: string | null
}

/** A complete list of the resources of a component, in parts, and then the sums. Only the keys of the listed resources are kept between them. */
export async function writeResources<Item extends ObjectName>(
  write: WritePart,
  needs: PartNeeds,
  { deploymentKey, component, listedIn }: ResourceList,
  items: readonly Item[],
  { placeIn, put, putMissing }: ResourceSteps<Item>,
): Promise<number> {
  const named = (names: readonly string[]): Needs => needs([{ deploymentKey, component, wanted: { names } }])
  const keys = await eachPart(items, (part) =>
    write({
      needs: named([...new Set(part.map(({ name }) => name))]),
      decide(work) {
        const place = placeIn(work)
        return eachPaced(part, (item) => put(work, place, item))
      },
    }),
  )
  const listed = new Set(keys.flat())
  for (let after: number | null = 0; after !== null; )
    after = await write<number | null>({
      needs: needs([{ deploymentKey, component: listedIn, wanted: { after, limit: partSize } }]),
      *decide(work) {
        const page = work.orchestration.resourcesOf(deploymentKey, listedIn)
        const place = placeIn(work)
        yield* eachPaced(page, (known) => (listed.has(known.key) ? undefined : putMissing(work, place, known)))
        return page.length < partSize ? null : Math.max(...page.map(({ key }) => key))
      },
    })
  return write({
    needs: named([]),
    decide(work) {
      deriveStates(work, placeIn(work))
      return work.revision()
    },
  })
}

/** False: the snapshot is older than the last one. */
function noteSnapshot(
  work: UnitOfWork,
  { instance, targetKey }: InstanceOnTarget,
  snapshot: ComponentSnapshot,
): boolean {
  const { component, uid, resourceVersion } = snapshot
  const known = work.orchestration.bundle(instance.key, targetKey, component)
  if (known && known.uid === uid && isOlder(resourceVersion, known.resourceVersion)) return false
  const receivedAt = work.now
  work.orchestration.putBundle({ instanceKey: instance.key, targetKey, component, uid, resourceVersion, receivedAt })
  return true
}

function putObserved(
  work: UnitOfWork,
  place: InstanceOnTarget,
  { component, isOfAll }: ComponentSnapshot,
  object: ObservedObject,
): number {
  const { instance, deploymentKey } = place
  const { isNamespaceGuessed = false } = object
  const known = isOfAll
    ? matchListed(work, deploymentKey, component, object, isNamespaceGuessed)
    : matchResource(work.orchestration.resourcesLike(deploymentKey, component, object), object)
  const base = known ?? blankResource(work.newKey(), place, { ...object, component })
  const next: Resource = {
    ...base,
    // What an orchestrator applied keeps its version: the cluster may serve it in another one, and its monitor may not state one.
    version: (base.sync !== null && base.version) || object.version || base.version,
    namespace: isNamespaceGuessed ? (base.namespace ?? object.namespace) : (object.namespace ?? base.namespace),
    presence: 'PRESENT',
    showable: true,
    goneAt: null,
    detailHash: object.detail?.hash ?? null,
  }
  putResource(work, instance, known, withAssessment(next, object.assessment), { detail: object.detail })
  return base.key
}

function putMissing(
  work: UnitOfWork,
  { instance }: InstanceOnTarget,
  known: Resource,
  canShow: ComponentSnapshot['canShow'],
): void {
  if (known.goneAt !== null) return
  const showable = known.showable || canShow(known.group, known.kind)
  const goneAt = known.sync === null ? work.moment().at : null
  const presence = showable ? 'NOT_PRESENT' : 'UNKNOWN'
  const next = assess({ ...known, presence, showable, goneAt, detailHash: null }, known)
  putResource(work, instance, known, next, { detail: null })
}

export function deriveStates(work: UnitOfWork, place: InstanceOnTarget): void {
  const { rollout, instance } = place
  deriveDeployment(work, latestOf(work, place))
  deriveInstance(work, rollout.key, instance.key)
}

function listedIn({ component, isOfAll }: ComponentSnapshot): string | null {
  return isOfAll ? null : component
}

/** The source can show what it says it can, and what it shows. */
function shownBy({ objects, canShow }: ComponentSnapshot): ComponentSnapshot['canShow'] {
  const kindOf = (group: string, kind: string): string => `${presentGroup(group, kind)}/${kind}`
  const shown = new Set(objects.map(({ group, kind }) => kindOf(group, kind)))
  return (group, kind) => shown.has(kindOf(group, kind)) || canShow(group, kind)
}

/** The key of the instance's deployment there, or a new one. */
export function deploymentKeyOf(work: UnitOfWork, instance: Instance, targetKey: number): number {
  // Its deployments on all targets may be thousands.
  const known = work
    .deploymentsOn(instance.instanceId, targetKey)
    .find(({ instanceKey }) => instanceKey === instance.key)
  return known?.key ?? work.newKey()
}

function isOlder(version: string | null, known: string | null): boolean {
  if (version === null || known === null || !/^\d+$/.test(version) || !/^\d+$/.test(known)) return false
  return BigInt(version) < BigInt(known)
}
