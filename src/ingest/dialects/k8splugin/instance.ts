/** k8splugin's instance body (docs/wire.md §3): what runs, where it runs, and its status in one word. */
import type { BundleInstance, ObjectName } from '../../../domain/orchestration/orchestrated-facts.ts'
import { resourceBundle } from '../../../domain/rollout.ts'
import type { DeploymentState } from '../../../domain/values.ts'
import { plainJson } from '../../../platform/body/json.ts'
import { complain, isAbsent, isObject, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import { longestId, readId, textProblem } from '../../../platform/body/text.ts'
import { mostObjects } from '../kubernetes/bundle-state.ts'

export const statuses: Readonly<Record<string, DeploymentState>> = {
  CREATING: 'INSTALLING',
  CREATED: 'INSTALLING',
  'POST-INSTALL': 'INSTALLING',
  'PRE-INSTALL': 'INSTALLING',
  UPGRADING: 'INSTALLING',
  UPGRADED: 'INSTALLING',
  'PRE-UPGRADE': 'INSTALLING',
  'POST-UPGRADE': 'INSTALLING',
  'PRE-ROLLBACK': 'INSTALLING',
  'ROLLING-BACK': 'INSTALLING',
  'ROLLED-BACK': 'INSTALLING',
  'POST-ROLLBACK': 'INSTALLING',
  DONE: 'INSTALLED',
  'PRE-DELETE': 'REMOVING',
  DELETING: 'REMOVING',
  'POST-DELETE': 'REMOVING',
  DELETED: 'REMOVED',
}

/** Throws SEMANTIC_ERROR that names every invalid field. `pathId`: the ID in the path, which the body may repeat. */
export function parseInstance(body: unknown, pathId: string): BundleInstance {
  const problems: Problems = { list: null }
  if (!isObject(body))
    throw refusal([{ field: 'body', message: `must be an object, but is ${shown(body)}` }], 'The instance')
  if (!isAbsent(body.id) && body.id !== pathId) complain(problems, 'id', `must be ${shown(pathId)}, as in the path`)
  const request = isObject(body.request) ? body.request : {}
  if (!isObject(body.request)) complain(problems, 'request', `must be an object, but is ${shown(body.request)}`)
  const rbName = readId(problems, 'request.rb-name', request['rb-name'])
  const rbVersion = readId(problems, 'request.rb-version', request['rb-version'])
  const profile = isAbsent(request['profile-name'])
    ? ''
    : readId(problems, 'request.profile-name', request['profile-name'])
  const cloudRegion = readId(problems, 'request.cloud-region', request['cloud-region'])
  const namespace =
    isAbsent(body.namespace) || body.namespace === '' ? null : readId(problems, 'namespace', body.namespace)
  const status = readStatus(problems, body.status)
  const resources = readResources(problems, body.resources, namespace)
  if (problems.list || rbName === null || rbVersion === null || profile === null || cloudRegion === null)
    throw refusal(problems.list ?? [], 'The instance')
  return {
    instanceId: pathId,
    rollout: resourceBundle(rbName, rbVersion, profile),
    cloudRegion,
    component: rbName,
    ...status,
    resources,
    document: plainJson({ ...body, id: pathId }),
  }
}

function readStatus(problems: Problems, status: unknown): { reportedState: DeploymentState; isEnding: boolean } {
  if (isAbsent(status) || status === '') return { reportedState: 'INSTALLED', isEnding: false }
  const word = typeof status === 'string' ? status.toUpperCase() : ''
  const isEnding = word.includes('DELET')
  if (word.endsWith('-FAILED') || word === 'FAILED') return { reportedState: 'FAILED', isEnding }
  const state = statuses[word]
  if (!state)
    complain(
      problems,
      'status',
      `must be one of ${Object.keys(statuses).join(', ')} or end in -FAILED, but is ${shown(status)}`,
    )
  return { reportedState: state ?? 'INSTALLED', isEnding }
}

function readResources(problems: Problems, list: unknown, namespace: string | null): BundleInstance['resources'] {
  if (isAbsent(list)) return []
  if (!Array.isArray(list)) {
    complain(problems, 'resources', `must be a list, but is ${shown(list)}`)
    return []
  }
  if (list.length > mostObjects) {
    complain(problems, 'resources', `must list at most ${mostObjects} objects, but lists ${list.length}`)
    return []
  }
  return list.flatMap((item: unknown, index) => {
    const field = `resources[${index}]`
    if (!isObject(item)) {
      complain(problems, field, `must be an object, but is ${shown(item)}`)
      return []
    }
    const gvk = readGvk(problems, `${field}.GVK`, item.GVK)
    const name = readId(problems, `${field}.Name`, item.Name ?? item.name)
    return gvk && name !== null ? [{ ...gvk, name, namespace }] : []
  })
}

export function readGvk(
  problems: Problems,
  field: string,
  value: unknown,
): Pick<ObjectName, 'group' | 'version' | 'kind'> | null {
  if (!isObject(value)) {
    complain(problems, field, `must be an object with Group, Version and Kind, but is ${shown(value)}`)
    return null
  }
  const kind = readId(problems, `${field}.Kind`, value.Kind ?? value.kind)
  const group = value.Group ?? value.group ?? ''
  const version = value.Version ?? value.version ?? ''
  for (const [name, part] of Object.entries({ Group: group, Version: version })) {
    const isText = typeof part === 'string'
    const problem = isText ? textProblem(part, longestId) : `must be a string, but is ${shown(part)}`
    if (problem !== null) complain(problems, `${field}.${name}`, problem)
  }
  if (kind === null || typeof group !== 'string' || typeof version !== 'string') return null
  return { group, version, kind }
}
