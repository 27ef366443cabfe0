/**
 * A cluster's snapshot of a component. Resources that it lists are present, and those that it does not list do not exist there.
 *
 *   begin    the snapshot is noted. An older one is STALE
 *   show     each listed object
 *   hide     each other resource of the component
 *   follow   the sums: the states of the deployment, the instance and the rollout
 *
 * A small snapshot is one unit of work. A large one is written in parts (divided-write.ts), with the same steps.
 */
import type { Instance } from '../../domain/instance.ts'
import type { ObjectName, ObservedObject } from '../../domain/orchestrated-facts.ts'
import type { Verdict } from '../../domain/report.ts'
import type { Resource } from '../../domain/resource.ts'
import type { Rollout } from '../../domain/rollout.ts'
import { eachPaced, type Paced } from '../../limits/pace.ts'
import type { Needs, OrchestratedNeed, ResourceNeed } from '../../store/write/contract.ts'
import { partSize, type WritePart } from '../command.ts'
import { followDeployment, followInstance } from '../derived-states.ts'
import { assess, blankResource, matchListed, matchResource, putResource, withAssessment } from '../resources.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

export interface ComponentSnapshot {
  readonly component: string
  /** The version of the custom resource. An older version of the same one is STALE. Null: unknown, so the snapshot is the newest. */
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly objects: readonly ObservedObject[]
  /** It lists the objects of all components, and new ones are of `component`: an upgrade leaves resources of a former component. */
  readonly isOfAll?: true
  /** Whether the source can show objects of that kind, also when it lists none. */
  readonly canShow: (group: string, kind: string) => boolean
}

/** A component of an instance on a target. Its deployment may not exist yet. */
export interface Place {
  readonly rollout: Rollout
  readonly instance: Instance
  readonly targetKey: number
  readonly deploymentKey: number
}

export function* applySnapshot(work: UnitOfWork, place: Place, snapshot: ComponentSnapshot): Paced<Verdict> {
  const before = work.revision()
  if (!begin(work, place, snapshot)) return 'STALE'
  const listed = new Set(yield* eachPaced(snapshot.objects, (object) => show(work, place, snapshot, object)))
  const canShow = shownBy(snapshot)
  for (const known of work.orchestration.resourcesOf(place.deploymentKey, listedIn(snapshot))) {
    if (!listed.has(known.key)) hide(work, place, known, canShow)
    yield
  }
  follow(work, place)
  return work.revision() > before ? 'APPLIED' : 'UNCHANGED'
}

/** `needs` and `at` give the instance and its deployment in each part. */
export async function writeSnapshot(
  write: WritePart,
  needs: PartNeeds,
  at: (work: UnitOfWork, deploymentKey: number | null) => Place,
  snapshot: ComponentSnapshot,
): Promise<{ readonly revision: number; readonly verdict: Verdict }> {
  const begun = await write({
    needs: needs([]),
    decide(work) {
      const place = at(work, null)
      const before = work.revision()
      return { before, deploymentKey: place.deploymentKey, isNew: begin(work, place, snapshot) }
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
      at: (work) => at(work, deploymentKey),
      put: (work, place, object) => show(work, place, snapshot, object),
      miss: (work, place, known) => hide(work, place, known, canShow),
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
  at(work: UnitOfWork): Place
  /** Returns the key of the item's resource. */
  put(work: UnitOfWork, place: Place, item: Item): number
  /** A resource of the component that no item lists. */
  miss(work: UnitOfWork, place: Place, known: Resource): void
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
  { at, put, miss }: ResourceSteps<Item>,
): Promise<number> {
  const named = (names: readonly string[]): Needs => needs([{ deploymentKey, component, wanted: { names } }])
  const listed = new Set<number>()
  for (let first = 0; first < items.length; first += partSize) {
    const part = items.slice(first, first + partSize)
    const keys = await write({
      needs: named([...new Set(part.map(({ name }) => name))]),
      decide(work) {
        const place = at(work)
        return eachPaced(part, (item) => put(work, place, item))
      },
    })
    for (const key of keys) listed.add(key)
  }
  for (let after: number | null = 0; after !== null; )
    after = await write<number | null>({
      needs: needs([{ deploymentKey, component: listedIn, wanted: { after, limit: partSize } }]),
      *decide(work) {
        const page = work.orchestration.resourcesOf(deploymentKey, listedIn)
        const place = at(work)
        yield* eachPaced(page, (known) => (listed.has(known.key) ? undefined : miss(work, place, known)))
        return page.length < partSize ? null : Math.max(...page.map(({ key }) => key))
      },
    })
  return write({
    needs: named([]),
    decide(work) {
      follow(work, at(work))
      return work.revision()
    },
  })
}

/** False: the snapshot is older than the last one. */
function begin(work: UnitOfWork, { instance, targetKey }: Place, snapshot: ComponentSnapshot): boolean {
  const { component, uid, resourceVersion } = snapshot
  const known = work.orchestration.bundle(instance.key, targetKey, component)
  if (known && known.uid === uid && isOlder(resourceVersion, known.resourceVersion)) return false
  const receivedAt = work.now
  work.orchestration.putBundle({ instanceKey: instance.key, targetKey, component, uid, resourceVersion, receivedAt })
  return true
}

function show(
  work: UnitOfWork,
  place: Place,
  { component, isOfAll }: ComponentSnapshot,
  object: ObservedObject,
): number {
  const { rollout, instance, targetKey, deploymentKey } = place
  const { isNamespaceGuessed = false } = object
  const known = isOfAll
    ? matchListed(work, deploymentKey, component, object, isNamespaceGuessed)
    : matchResource(work.orchestration.resourcesLike(deploymentKey, component, object), object)
  const base =
    known ?? blankResource(work.newKey(), rollout, instance, deploymentKey, targetKey, { ...object, component })
  const next: Resource = {
    ...base,
    version: object.version || base.version,
    namespace: isNamespaceGuessed ? (base.namespace ?? object.namespace) : (object.namespace ?? base.namespace),
    presence: 'PRESENT',
    showable: true,
    goneAt: null,
    detailHash: object.detail?.hash ?? null,
  }
  putResource(work, instance, known, withAssessment(next, object.assessment), { detail: object.detail })
  return base.key
}

function hide(work: UnitOfWork, { instance }: Place, known: Resource, canShow: ComponentSnapshot['canShow']): void {
  if (known.goneAt !== null) return
  const showable = known.showable || canShow(known.group, known.kind)
  const goneAt = known.sync === null ? work.moment().at : null
  const presence = showable ? 'NOT_PRESENT' : 'UNKNOWN'
  const next = assess({ ...known, presence, showable, goneAt, detailHash: null }, known)
  putResource(work, instance, known, next, { detail: null })
}

export function follow(work: UnitOfWork, { rollout, instance, targetKey, deploymentKey }: Place): void {
  const latest = work.rolloutByKey(rollout.key) ?? rollout
  followDeployment(work, latest, work.orchestration.instance(instance.key) ?? instance, targetKey, deploymentKey)
  followInstance(work, rollout.key, instance.key)
}

function listedIn({ component, isOfAll }: ComponentSnapshot): string | null {
  return isOfAll ? null : component
}

/** The source can show what it says it can, and what it shows. */
function shownBy({ objects, canShow }: ComponentSnapshot): ComponentSnapshot['canShow'] {
  const kindOf = (group: string, kind: string): string => `${group}/${kind}`
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
