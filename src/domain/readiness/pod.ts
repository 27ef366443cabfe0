/**
 * A Pod's readiness follows from its phase. A long-lived Pod (restartPolicy Always, the default) is READY when it serves. A finite Pod
 * (OnFailure, Never) is PENDING while it runs and READY when it Succeeded, unless an annotation says to treat it as long-lived.
 */
import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready, unknown } from './assessment.ts'
import {
  annotationsOf,
  conditionOf,
  type Fields,
  fields,
  items,
  type KubernetesObject,
  text,
} from './kubernetes-object.ts'

export const podReadiness = (object: KubernetesObject): Assessment => {
  const { status } = object
  const longLived = isLongLived(object)
  if (longLived) {
    const stuck = stuckContainers(status)
    if (stuck) return stuck
  }
  const phase = phaseOf(status)
  switch (phase) {
    case '':
      return pending('NotObserved', 'the Pod has no phase yet')
    case 'Pending':
      return waitingToStart(object)
    case 'Running':
      return longLived ? serving(object) : pending('Running', text(status.message) || 'the Pod has not finished yet')
    case 'Succeeded':
      return ready(text(status.message))
    case 'Failed':
      return failed(text(status.reason) || failedReason(status), failedMessage(status))
    default:
      return unknown(text(status.reason) || 'UnknownPhase', text(status.message) || `the Pod's phase is ${phase}`)
  }
}

const containers = (status: Fields): readonly Fields[] => items(status.containerStatuses)
const stateOf = (container: Fields, key: 'waiting' | 'terminated'): Fields => fields(fields(container.state)[key])

/** A status with only container statuses comes from a Pod that a kubelet has started. */
const phaseOf = (status: Fields): string => text(status.phase) || (containers(status).length > 0 ? 'Running' : '')

const isLongLived = (object: KubernetesObject): boolean => {
  if (object.spec.restartPolicy !== 'OnFailure' && object.spec.restartPolicy !== 'Never') return true
  const annotations = annotationsOf(object)
  return annotations['argocd.argoproj.io/ignore-restart-policy'] === 'true' && !isHook(annotations)
}

/** A hook is a step of a rollout, so it must end, whatever its annotations say. Helm marks CRDs like hooks, but they are not hooks. */
const isHook = (annotations: Fields): boolean => {
  const argo = annotations['argocd.argoproj.io/hook']
  if (argo !== undefined) return argo !== 'Skip'
  const helm = annotations['helm.sh/hook']
  return helm !== undefined && helm !== 'crd-install'
}

const isError = (reason: string): boolean => /^Err|(?:Error|BackOff)$/.test(reason)

const stuckContainers = (status: Fields): Assessment | null => {
  const stuck = containers(status)
    .map((container) => stateOf(container, 'waiting'))
    .filter((waiting) => isError(text(waiting.reason)))
  const [first] = stuck
  if (first === undefined) return null
  const messages = stuck.map((waiting) => text(waiting.message)).filter((message) => message !== '')
  return failed(text(first.reason), messages.join(', '))
}

const waitingToStart = (object: KubernetesObject): Assessment => {
  const scheduled = conditionOf(object, 'PodScheduled')
  if (scheduled?.status === 'False') return pending(scheduled.reason || 'PodNotScheduled', scheduled.message)
  const waiting = containers(object.status)
    .map((container) => stateOf(container, 'waiting'))
    .find((state) => text(state.reason) !== '')
  return pending(text(waiting?.reason) || 'PodPending', text(object.status.message) || text(waiting?.message))
}

const serving = (object: KubernetesObject): Assessment => {
  const { status } = object
  const condition = conditionOf(object, 'Ready')
  const unready = containers(status).find((container) => container.ready !== true)
  // Every container must be ready. The kubelet's Ready condition also includes readiness gates.
  const isReady = condition === undefined ? containers(status).length > 0 : condition.status === 'True'
  if (isReady && unready === undefined) return ready(text(status.message))
  const terminated = containers(status)
    .map((container) => fields(container.lastState).terminated)
    .find((terminated) => typeof terminated === 'object' && terminated !== null)
  if (terminated)
    return failed(
      text(fields(terminated).reason) || 'ContainerTerminated',
      text(status.message) || text(condition?.message),
    )
  return pending(condition?.reason || 'PodRunningNotReady', text(status.message) || text(condition?.message))
}

const ended = (status: Fields): readonly Fields[] => [...items(status.initContainerStatuses), ...containers(status)]

const failedReason = (status: Fields): string =>
  ended(status)
    .map((container) => stateOf(container, 'terminated'))
    .filter((terminated) => terminated.exitCode !== 0)
    .map((terminated) => text(terminated.reason))
    .find((reason) => reason !== '') ?? 'PodFailed'

const failedMessage = (status: Fields): string =>
  text(status.message) ||
  (ended(status)
    .map(endMessage)
    .find((message) => message !== '') ??
    '')

const endMessage = (container: Fields): string => {
  const terminated = stateOf(container, 'terminated')
  if (text(terminated.message) !== '') return text(terminated.message)
  if (terminated.reason === 'OOMKilled') return 'OOMKilled'
  const code = terminated.exitCode
  return typeof code === 'number' && code !== 0 ? `container ${text(container.name)} ended with exit code ${code}` : ''
}
