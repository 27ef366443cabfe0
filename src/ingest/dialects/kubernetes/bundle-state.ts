/**
 * ResourceBundleState: the custom resource in which a cluster's monitor lists all objects of a component (docs/wire.md §2.3). The list is
 * complete: an object that it does not list does not exist.
 */
import { DomainError, type FieldProblem } from '../../../domain/errors.ts'
import type { ObservedObject } from '../../../domain/orchestration/orchestrated-facts.ts'
import { unknown } from '../../../domain/readiness/assessment.ts'
import { readiness } from '../../../domain/readiness/index.ts'
import { deepest } from '../../../platform/body/json.ts'
import { type Room, readJson } from '../../../platform/body/json-reader.ts'
import {
  type Body,
  complain,
  isAbsent,
  isObject,
  type Problems,
  refusal,
  shown,
} from '../../../platform/body/problems.ts'
import { idProblem, longestId, textProblem } from '../../../platform/body/text.ts'
import type { Paced } from '../../../platform/limits/pace.ts'
import { detailLimit, toDetail } from './detail.ts'

export interface BundleState {
  /** The status context. */
  readonly context: string
  readonly component: string
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly objects: readonly ObservedObject[]
  /** Entries that could not be read. They do not affect the others. */
  readonly unreadable: readonly FieldProblem[]
  readonly canShow: (group: string, kind: string) => boolean
}

interface ListKind {
  readonly kind: string
  readonly groups: readonly string[]
  readonly version: string
}

/** Its lists, and what each contains: an object in a list need not state its own kind. */
export const lists: Readonly<Record<string, ListKind>> = {
  podStatuses: { kind: 'Pod', groups: [''], version: 'v1' },
  serviceStatuses: { kind: 'Service', groups: [''], version: 'v1' },
  configMapStatuses: { kind: 'ConfigMap', groups: [''], version: 'v1' },
  secretStatuses: { kind: 'Secret', groups: [''], version: 'v1' },
  deploymentStatuses: { kind: 'Deployment', groups: ['apps', 'extensions'], version: 'v1' },
  daemonSetStatuses: { kind: 'DaemonSet', groups: ['apps', 'extensions'], version: 'v1' },
  statefulSetStatuses: { kind: 'StatefulSet', groups: ['apps'], version: 'v1' },
  jobStatuses: { kind: 'Job', groups: ['batch'], version: 'v1' },
  ingressStatuses: { kind: 'Ingress', groups: ['networking.k8s.io', 'extensions'], version: 'v1' },
  csrStatuses: { kind: 'CertificateSigningRequest', groups: ['certificates.k8s.io'], version: 'v1' },
}

/** Whether it always lists existing objects of that kind. Other kinds appear only in resourceStatuses, if the monitor fills it. */
export function canShow(group: string, kind: string): boolean {
  return Object.values(lists).some((list) => list.kind === kind && list.groups.includes(group))
}

/** The limit for one ResourceBundleState, because it is decided and written at once while the next command waits. */
export const mostObjects = 5_000

/** Its lists may be large, one by one and together. */
export const roomForBundleState: Room = {
  members: {
    status: {
      members: Object.fromEntries([...Object.keys(lists), 'resourceStatuses'].map((key) => [key, { elements: {} }])),
    },
  },
}

const deploymentLabel = 'emco/deployment-id'

/** Throws SEMANTIC_ERROR if it does not identify its deployment. */
export function* parseBundleState(body: unknown): Paced<BundleState> {
  const object = isObject(body) ? body : {}
  const metadata = isObject(object.metadata) ? object.metadata : {}
  checkParts(object)
  const { context, component } = readContext(object, metadata)
  const status = isObject(object.status) ? object.status : {}
  checkCount(status)
  const objects: ObservedObject[] = []
  const unreadable: FieldProblem[] = []
  for (const [key, kind] of Object.entries(lists))
    for (const [field, entry] of entriesOf(status, key, unreadable)) {
      const object = isObject(entry) ? showListed(entry, kind) : null
      if (object) objects.push(object)
      else unreadable.push({ field, message: `must be an object with metadata.name, but ${faultOf(entry)}` })
      yield
    }
  for (const [field, entry] of entriesOf(status, 'resourceStatuses', unreadable)) {
    const { listed, isReadable } = yield* readGeneric(entry)
    if (listed) objects.push(listed)
    if (!isReadable) unreadable.push({ field, message: 'must have a kind, a name, and in res an object in base64' })
    yield
  }
  const listed = new Set(objects.map(({ group, kind }) => `${group}/${kind}`))
  return {
    context,
    component,
    uid: shortText(metadata.uid),
    resourceVersion: shortText(metadata.resourceVersion),
    objects,
    unreadable,
    canShow: (group, kind) => canShow(group, kind) || listed.has(`${group}/${kind}`),
  }
}

/** An object of a list that has its kind in the name of the list only. */
function showListed(entry: Body, { kind, groups, version }: ListKind): ObservedObject | null {
  const apiVersion = groups[0] === '' ? version : `${groups[0]}/${version}`
  return showObject({ apiVersion, kind, ...withoutEmpty(entry) })
}

function faultOf(entry: unknown): string {
  return isObject(entry) ? 'has no valid one' : `is ${shown(entry)}`
}

/**
 * EMCO gives the label to every object of an app. One of another kind, or a status that is none, would say that the cluster shows no object at
 * all. A new ResourceBundleState has no status yet, and clients that know the type omit the kind.
 */
function checkParts({ kind, status }: Body): void {
  const problems: Problems = { list: null }
  if (!isAbsent(kind) && kind !== '' && kind !== 'ResourceBundleState')
    complain(problems, 'kind', `must be ResourceBundleState, but is ${shown(kind)}`)
  if (!isAbsent(status) && !isObject(status)) complain(problems, 'status', `must be an object, but is ${shown(status)}`)
  if (problems.list) throw refusal(problems.list, 'The ResourceBundleState')
}

function checkCount(status: Body): void {
  let count = 0
  for (const key of [...Object.keys(lists), 'resourceStatuses']) {
    const { [key]: list } = status
    if (Array.isArray(list)) count += list.length
  }
  const message = `must list at most ${mostObjects} objects, but lists ${count}`
  if (count > mostObjects) throw refusal([{ field: 'status', message }], 'The ResourceBundleState')
}

/** The context and app come from its label, else from its selector (`<context>-<app>`), else from its name, which has the reverse order. */
function readContext(object: Body, metadata: Body): { context: string; component: string } {
  const labels = isObject(metadata.labels) ? metadata.labels : {}
  const spec = isObject(object.spec) ? object.spec : {}
  const selector = isObject(spec.selector) ? spec.selector : {}
  const matchLabels = isObject(selector.matchLabels) ? selector.matchLabels : {}
  const label = text(labels[deploymentLabel]) ?? text(matchLabels[deploymentLabel])
  const name = text(metadata.name) ?? ''
  const cut = label?.indexOf('-') ?? -1
  const end = name.lastIndexOf('-')
  const [context = '', component = ''] = label
    ? [label.slice(0, cut), label.slice(cut + 1)]
    : [name.slice(end + 1), name.slice(0, Math.max(end, 0))]
  if ((!label || cut > 0) && idProblem(context) === null && idProblem(component) === null) return { context, component }
  const message = `must be <context id>-<app>, but is ${shown(label ?? undefined)}`
  throw refusal([{ field: `metadata.labels["${deploymentLabel}"]`, message }], 'The ResourceBundleState')
}

function* entriesOf(status: Body, key: string, unreadable: FieldProblem[]): Generator<readonly [string, unknown]> {
  const { [key]: list } = status
  if (list === undefined || list === null) return
  if (!Array.isArray(list)) {
    unreadable.push({ field: `status.${key}`, message: `must be a list, but is ${shown(list)}` })
    return
  }
  for (const [index, entry] of list.entries()) yield [`status.${key}[${index}]`, entry]
}

/** An object that cannot be read exists all the same, because it is listed. */
function* readGeneric(entry: unknown): Paced<{ readonly listed: ObservedObject | null; readonly isReadable: boolean }> {
  if (!isObject(entry)) return { listed: null, isReadable: false }
  const object = yield* decodeObject(entry.res)
  const listed = showGeneric(entry, object ?? {})
  if (object || !listed) return { listed, isReadable: listed !== null }
  const assessment = unknown('Malformed', 'the object of its entry cannot be read')
  return { listed: { ...listed, assessment, detail: null }, isReadable: false }
}

/** `res` is the whole object in base64. The entry's own fields apply where the object lacks them. */
function showGeneric(entry: Body, object: Body): ObservedObject | null {
  const { group = '', version = '', kind, name, namespace } = entry
  if (typeof group !== 'string' || typeof version !== 'string') return null
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const apiVersion = group === '' ? version : `${group}/${version}`
  return showObject({
    apiVersion,
    kind,
    ...withoutEmpty(object),
    metadata: { ...(text(name) && { name }), ...(text(namespace) && { namespace }), ...metadata },
  })
}

/** Counts values before it creates any, as for the body. Otherwise base64 would hide `[{},{},…]`. */
function* decodeObject(res: unknown): Paced<Body | null> {
  if (isObject(res)) return res
  if (typeof res !== 'string') return null
  try {
    const value = yield* readJson(Buffer.from(res, 'base64'), { deepest, keepsDigits: false })
    return isObject(value) ? value : null
  } catch (error) {
    if (error instanceof DomainError) return null
    throw error
  }
}

function showObject(object: Body): ObservedObject | null {
  const { apiVersion, kind } = object
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const name = text(metadata.name)
  if (name === null || idProblem(name) !== null || typeof kind !== 'string' || typeof apiVersion !== 'string')
    return null
  if (idProblem(kind) !== null || textProblem(apiVersion, longestId) !== null) return null
  const cut = apiVersion.indexOf('/')
  return {
    group: cut < 0 ? '' : apiVersion.slice(0, cut),
    version: apiVersion.slice(cut + 1),
    kind,
    name,
    namespace: shortText(metadata.namespace),
    assessment: readiness(object),
    detail: toDetail(object, detailLimit, kind),
  }
}

/** Typed clients write "" for unknown values. */
function withoutEmpty({ apiVersion, kind, ...object }: Body): Body {
  return { ...(text(apiVersion) && { apiVersion }), ...(text(kind) && { kind }), ...object }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A text that cannot be stored counts as absent. */
function shortText(value: unknown): string | null {
  return typeof value === 'string' && idProblem(value) === null ? value : null
}
