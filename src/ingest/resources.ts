/** Finds, assesses and puts one resource, the same for every source. */
import { presentGroup } from '../domain/orchestration/api-group.ts'
import type { Instance } from '../domain/orchestration/instance.ts'
import type { ObjectName } from '../domain/orchestration/orchestrated-facts.ts'
import type { Assessment, Resource, ResourceDetail } from '../domain/orchestration/resource.ts'
import { resourceReadiness } from '../domain/readiness/sum.ts'
import type { Verdict } from '../domain/report.ts'
import type { Readiness } from '../domain/values.ts'
import type { InstanceOnTarget } from './derived-states.ts'
import type { UnitOfWork } from './unit-of-work/unit-of-work.ts'

/** Whether the two are of one kind, whatever their versions are. */
function isSameKind(a: Pick<ObjectName, 'group' | 'kind'>, b: Pick<ObjectName, 'group' | 'kind'>): boolean {
  return a.kind === b.kind && presentGroup(a.group, a.kind) === presentGroup(b.group, b.kind)
}

/** Candidates have the same name. Compares group and kind, not the version. If a source gives no namespace, the only candidate matches. */
export function matchResource(
  candidates: readonly Resource[],
  wanted: { readonly group: string; readonly kind: string; readonly namespace: string | null },
): Resource | null {
  const alike = candidates.filter((candidate) => isSameKind(candidate, wanted))
  const exact = alike.find(({ namespace }) => namespace === wanted.namespace)
  if (exact) return exact
  if (wanted.namespace !== null) return alike.find(({ namespace }) => namespace === null) ?? null
  const there = alike.filter(({ goneAt }) => goneAt === null)
  return there.length === 1 ? (there[0] ?? null) : null
}

/**
 * As matchResource, for resource bundles, which list objects by their names alone: the namespace of the instance is a guess until the object is observed in another one.
 * `isGuessed`: so is `wanted.namespace`.
 */
export function matchListed(
  { orchestration }: UnitOfWork,
  deploymentKey: number,
  component: string,
  wanted: ObjectName,
  isGuessed: boolean,
): Resource | null {
  const like = (name: ObjectName) => orchestration.resourcesLike(deploymentKey, component, name)
  const known = matchResource(like(wanted), wanted)
  if (known) return known
  const listed = like({ ...wanted, namespace: null }).filter(
    (one) =>
      isSameKind(one, wanted) && one.goneAt === null && one.sync !== null && (isGuessed || one.presence !== 'PRESENT'),
  )
  return listed.length === 1 ? (listed[0] ?? null) : null
}

export function putResource(
  work: UnitOfWork,
  instance: Instance,
  known: Resource | null,
  next: Resource,
  details: {
    readonly detail?: ResourceDetail | null | undefined
    readonly appliedDetail?: ResourceDetail | null | undefined
  },
): Verdict {
  const { detail, appliedDetail } = details
  if (detail !== undefined && (known?.detailHash ?? null) !== (detail?.hash ?? null))
    work.orchestration.putDetail({ key: next.key, detail })
  if (appliedDetail !== undefined && (known?.appliedDetailHash ?? null) !== (appliedDetail?.hash ?? null))
    work.orchestration.putDetail({ key: next.key, appliedDetail })
  const before = known && known.goneAt === null ? known : null
  if (known && isSame(known, next)) {
    if (known.detailHash !== next.detailHash || known.appliedDetailHash !== next.appliedDetailHash)
      work.orchestration.putResource(next, known)
    return 'UNCHANGED'
  }
  work.recordResource(next, known, instance, {
    kind: 'RESOURCE_STATUS_CHANGED',
    component: next.component,
    fromSync: before?.sync ?? null,
    toSync: next.sync,
    fromPresence: before?.presence ?? null,
    toPresence: next.presence,
    fromReadiness: before?.readiness ?? null,
    toReadiness: next.readiness,
    reason: next.reason,
  })
  return 'APPLIED'
}

function isSame(a: Resource, b: Resource): boolean {
  return (
    a.version === b.version &&
    a.namespace === b.namespace &&
    a.sync === b.sync &&
    a.presence === b.presence &&
    a.readiness === b.readiness &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.showable === b.showable &&
    a.goneAt === b.goneAt
  )
}

/** The readiness after a change of the sync status or the presence. The assessment of the object stays valid while the object exists. */
export function assess(next: Resource, known: Resource): Resource {
  const said: Assessment | null =
    known.presence === 'PRESENT' ? { readiness: known.readiness, reason: known.reason, message: known.message } : null
  return withAssessment(next, said)
}

export function withAssessment(next: Resource, assessed: Assessment | null): Resource {
  const { readiness, reason, message } = resourceReadiness(next, assessed)
  return { ...next, readiness: readiness satisfies Readiness, reason, message }
}

export function blankResource(
  key: number,
  { rollout, instance, targetKey, deploymentKey }: InstanceOnTarget,
  { component, group, version, kind, namespace, name }: ObjectName & Pick<Resource, 'component'>,
): Resource {
  return {
    key,
    rolloutKey: rollout.key,
    instanceKey: instance.key,
    deploymentKey,
    targetKey,
    ...{ component, group, version, kind, namespace, name },
    sync: null,
    presence: 'UNKNOWN',
    readiness: 'UNKNOWN',
    reason: null,
    message: null,
    showable: true,
    changedAt: 0,
    revision: 0,
    goneAt: null,
    detailHash: null,
    appliedDetailHash: null,
  }
}
