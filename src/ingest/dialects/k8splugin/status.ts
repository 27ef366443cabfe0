/** The status of an instance's resources. A request carries the complete list; the answer shows each object as Kubernetes returned it (docs/wire.md §3). */
import type { FieldProblem } from '../../../domain/errors.ts'
import type { ObservedObject } from '../../../domain/orchestration/orchestrated-facts.ts'
import { readiness } from '../../../domain/readiness/index.ts'
import type { Room } from '../../../platform/body/json-reader.ts'
import { isObject, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import { readId } from '../../../platform/body/text.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import { mostObjects } from '../kubernetes/bundle-state.ts'
import { detailLimit, toDetail } from '../kubernetes/detail.ts'
import { readGvk } from './instance.ts'

type StatusItem =
  | { readonly ok: true; readonly object: ObservedObject }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

export const roomForStatus: Room = { members: { resourcesStatus: { elements: {} } } }

/** An unreadable object does not affect the others: each has its own verdict. */
export function* parseInstanceStatus(body: unknown, namespace: string | null): Paced<StatusItem[]> {
  if (!isObject(body))
    throw refusal(
      [{ field: 'body', message: `must be an object with resourcesStatus, but is ${shown(body)}` }],
      'The status',
    )
  const list = body.resourcesStatus
  if (!Array.isArray(list))
    throw refusal([{ field: 'resourcesStatus', message: `must be a list, but is ${shown(list)}` }], 'The status')
  if (list.length > mostObjects) {
    const message = `must list at most ${mostObjects} objects, but lists ${list.length}`
    throw refusal([{ field: 'resourcesStatus', message }], 'The status')
  }
  return yield* eachPaced(list, (item: unknown, index) => readItem(item, `resourcesStatus[${index}]`, namespace))
}

function readItem(item: unknown, field: string, namespace: string | null): StatusItem {
  const problems: Problems = { list: null }
  if (!isObject(item)) return { ok: false, problems: [{ field, message: `must be an object, but is ${shown(item)}` }] }
  const gvk = readGvk(problems, `${field}.GVK`, item.GVK)
  const name = readId(problems, `${field}.name`, item.name ?? item.Name)
  const { status } = item
  const object = isWhole(status) ? status : { status }
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const saysWhere = typeof metadata.namespace === 'string' && metadata.namespace !== ''
  const where = saysWhere ? readId(problems, `${field}.status.metadata.namespace`, metadata.namespace) : namespace
  if (!gvk || name === null || problems.list) return { ok: false, problems: problems.list ?? [] }
  const apiVersion = gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`
  // A bare status block has no metadata. The GVK states its kind.
  const assessed = readiness({ apiVersion, kind: gvk.kind, ...object, metadata: { name, ...metadata } })
  return {
    ok: true,
    object: {
      ...gvk,
      name,
      namespace: where,
      ...(saysWhere ? {} : { isNamespaceGuessed: true }),
      assessment: assessed,
      detail: toDetail(status, detailLimit, gvk.kind),
    },
  }
}

/** Whether it is an object as Kubernetes returns it, not only its status block. */
function isWhole(status: unknown): status is Readonly<Record<string, unknown>> {
  return (
    isObject(status) && (isObject(status.metadata) || typeof status.apiVersion === 'string' || isObject(status.status))
  )
}
