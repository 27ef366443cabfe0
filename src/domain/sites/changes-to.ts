import type { ChangeBody } from '../change.ts'
import { type Component, type DeploymentImage, initialImage, movedTo } from '../deployment.ts'
import { nothingDesired } from '../desired.ts'
import { detailNames, saidDetails } from '../nouns/deployment.ts'
import { sameError } from '../transition/component-changes.ts'

type Wanted = Omit<DeploymentImage, 'revision' | 'changedAt' | 'derivedState' | 'consistent' | 'reportedAt'>

/**
 * The changes that make a deployment what it is wanted to be, for the log: replayed (fold.ts) they give `wanted`, but for revisions and times. Null: it
 * does not exist yet. Empty: it is that already.
 */
export function changesTo(known: DeploymentImage | null, wanted: Wanted): readonly ChangeBody[] {
  const isPresent = known !== null && known.forgottenAt === null
  if (!isPresent && wanted.forgottenAt !== null) return []
  const was = known === null ? initialImage : baseOf(known, wanted)
  const from = isPresent && known.targetKey === wanted.targetKey ? known.state : null
  return [
    ...(isPresent && known.targetKey !== wanted.targetKey
      ? [{ kind: 'DEPLOYMENT_MOVED', fromTargetKey: known.targetKey, toTargetKey: wanted.targetKey } as const]
      : []),
    ...(from === null || isOtherState(was, wanted) ? [stateChange(from, wanted)] : []),
    ...componentChanges(was.components, wanted.components),
    ...revision(isPresent ? known.rolloutKey : wanted.rolloutKey, was, wanted),
    ...(isOtherGoal(was, wanted) ? [convergenceChange(was, wanted)] : []),
    ...(was.stalled === wanted.stalled ? [] : [{ kind: 'DEPLOYMENT_STALLED', stalled: wanted.stalled } as const]),
    ...(wanted.forgottenAt === null ? [] : [{ kind: 'DEPLOYMENT_FORGOTTEN' } as const]),
  ]
}

type Was = Omit<Wanted, 'targetKey' | 'rolloutKey'>

/** What a move, or the return of a forgotten deployment, leaves of it (fold.ts). */
function baseOf(known: DeploymentImage, { targetKey }: Wanted): Was {
  const there = known.targetKey === targetKey ? known : movedTo(known, targetKey)
  return known.forgottenAt === null ? there : { ...there, ...nothingDesired, components: [] }
}

function isOtherState(was: Was, wanted: Wanted): boolean {
  const fields = ['state', 'attempt', 'adoptedManifestVersion', ...detailNames] as const
  return !sameError(was.error, wanted.error) || fields.some((field) => was[field] !== wanted[field])
}

function stateChange(from: Wanted['state'] | null, wanted: Wanted): ChangeBody {
  const { state: to, error, attempt, adoptedManifestVersion } = wanted
  return { kind: 'DEPLOYMENT_STATE_CHANGED', from, to, error, ...saidDetails(wanted), attempt, adoptedManifestVersion }
}

function componentChanges(was: readonly Component[], wanted: readonly Component[]): ChangeBody[] {
  const before = new Map(was.map((component) => [component.name, component]))
  const changes: ChangeBody[] = []
  for (const { name, state, error, unread } of wanted) {
    const old = before.get(name)
    before.delete(name)
    if (old && old.state === state && old.unread === unread && sameError(old.error, error)) continue
    const said = unread === undefined ? {} : { unread }
    changes.push({
      kind: 'COMPONENT_STATE_CHANGED',
      component: name,
      from: old?.state ?? null,
      to: state,
      error,
      ...said,
    })
  }
  const gone = [...before.values()].map(
    ({ name, state }) => ({ kind: 'COMPONENT_REMOVED', component: name, from: state }) as const,
  )
  return [...gone, ...changes]
}

/** What it is a deployment of. The readiness of its components is known after the components are. */
function revision(rolloutKey: number, was: Was, wanted: Wanted): ChangeBody[] {
  const before = new Map(was.components.map((component) => [component.name, component]))
  const fields = ['application', 'applicationVersion', 'readiness', 'isCurrent'] as const
  const isSame =
    rolloutKey === wanted.rolloutKey &&
    fields.every((field) => was[field] === wanted[field]) &&
    wanted.components.every(({ name, readiness }) => readiness === before.get(name)?.readiness)
  if (isSame) return []
  const { application, applicationVersion, readiness, isCurrent } = wanted
  const componentReadiness = Object.fromEntries(
    wanted.components.flatMap((component) => (component.readiness ? [[component.name, component.readiness]] : [])),
  )
  const from = { application: was.application, applicationVersion: was.applicationVersion }
  return [
    {
      ...{ kind: 'DEPLOYMENT_REVISED', from, application, applicationVersion, rolloutKey: wanted.rolloutKey },
      ...{ readiness, componentReadiness, isCurrent },
    },
  ]
}

function isOtherGoal(was: Was, wanted: Wanted): boolean {
  const fields = ['convergence', 'targetManifestVersion', 'documentDigest'] as const
  return fields.some((field) => was[field] !== wanted[field])
}

function convergenceChange(was: Was, { convergence, targetManifestVersion, documentDigest }: Wanted): ChangeBody {
  return { kind: 'CONVERGENCE_CHANGED', from: was.convergence, to: convergence, targetManifestVersion, documentDigest }
}
