import type { Assessment } from '../orchestration/resource.ts'
import { failed, pending, ready, unknown } from './assessment.ts'
import { annotationsOf, type Condition, conditionsOf, type KubernetesObject } from './kubernetes-object.ts'

/** autoscaling/v1 has no conditions in its status. The API server puts those of the newer versions in this annotation. */
const annotation = 'autoscaling.alpha.kubernetes.io/conditions'

/** The reasons for which it cannot scale, by type of condition. The condition's status does not matter. */
const failures: Readonly<Record<string, readonly string[]>> = {
  AbleToScale: ['FailedGetScale', 'FailedUpdateScale'],
  ScalingActive: [
    'FailedGetResourceMetric',
    'FailedGetObjectMetric',
    'FailedGetPodsMetric',
    'FailedGetExternalMetric',
    'FailedComputeMetricsReplicas',
    'InvalidSelector',
  ],
}

const isFailure = ({ type, reason }: Condition): boolean =>
  Object.hasOwn(failures, type) && failures[type]?.includes(reason) === true

const isWorking = ({ type, status }: Condition): boolean =>
  status === 'True' && (type === 'AbleToScale' || type === 'ScalingLimited')

export const autoscalerReadiness = (object: KubernetesObject): Assessment => {
  const conditions = object.conditions.length > 0 ? object.conditions : annotatedConditions(object)
  if (conditions === null) return unknown('Malformed', `the annotation ${annotation} is not a JSON list`)
  const failure = conditions.find(isFailure)
  if (failure) return failed(failure.reason, failure.message)
  const working = conditions.find(isWorking)
  return working ? ready(working.message) : pending('WaitingToAutoscale', 'it cannot scale yet')
}

const annotatedConditions = (object: KubernetesObject): readonly Condition[] | null => {
  const value = annotationsOf(object)[annotation]
  if (typeof value !== 'string') return []
  try {
    const parsed: unknown = JSON.parse(value)
    return Array.isArray(parsed) ? conditionsOf(parsed) : null
  } catch {
    return null
  }
}
