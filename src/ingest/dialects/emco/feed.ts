/** What orchestrators report: actions, resources with their rsync status, and connectivity, with the keys of every generation (docs/wire.md §2.1). */
import type { FieldProblem } from '../../../domain/errors.ts'
import { type ActionFact, type AppliedResource, mostItems } from '../../../domain/orchestration/orchestrated-facts.ts'
import { type ClusterName, type Connectivity, parseCluster } from '../../../domain/target.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Room } from '../../../platform/body/json-reader.ts'
import {
  type Body,
  complain,
  isAbsent,
  isObject,
  type Problems,
  refusal,
  shown,
} from '../../../platform/body/problems.ts'
import { readId } from '../../../platform/body/text.ts'
import { readTime } from '../../../platform/body/time.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import { canShow } from '../kubernetes/bundle-state.ts'
import { detailLimit, toDetail } from '../kubernetes/detail.ts'
import { actionWords, connectivityWords, syncWords, toAction, toConnectivity, toSync } from './vocabulary.ts'

/** One action, or EMCO's own list of all actions. */
export function parseActions(body: unknown): ActionFact[] {
  const problems: Problems = { list: null }
  const list = isObject(body) ? listOfActions(body) : null
  const items: readonly unknown[] = list ?? [body]
  if (items.length > mostItems)
    throw refusal([{ field: 'Actions', message: `must have at most ${mostItems} items` }], 'The action')
  const facts = items.map((item, index) => readAction(problems, item, list ? `Actions[${index}].` : ''))
  if (items.length === 0) complain(problems, 'Actions', 'must not be empty')
  if (problems.list) throw refusal(problems.list, 'The action')
  return facts
}

/** `{"Actions":[…]}`, or the form of a status answer: below `state` or `states`. */
function listOfActions(body: Body): readonly unknown[] | null {
  const own = pick(body, 'Actions', 'actions')
  if (Array.isArray(own)) return own
  const below = pick(body, 'state', 'states', 'State')
  return isObject(below) ? listOfActions(below) : null
}

function readAction(problems: Problems, item: unknown, field: string): ActionFact {
  const nothing = { state: 'CREATED', instanceId: null, at: null, timestamp: null, compositeProfile: null } as const
  if (!isObject(item)) {
    complain(problems, field || 'body', `must be an object, but is ${shown(item)}`)
    return nothing
  }
  const word = pick(item, 'State', 'state')
  const state = toAction(word)
  if (!state) complain(problems, `${field}State`, `must be one of ${actionWords.join(', ')}, but is ${shown(word)}`)
  const timestamp = pick(item, 'TimeStamp', 'timeStamp', 'timestamp', 'time')
  const at =
    isAbsent(timestamp) || timestamp === '' || timestamp === unset
      ? null
      : readActionTime(problems, `${field}TimeStamp`, timestamp)
  return {
    state: state ?? 'CREATED',
    instanceId: optionalId(
      problems,
      `${field}ContextId`,
      pick(item, 'ContextId', 'contextId', 'instance', 'instanceId'),
    ),
    at,
    timestamp: at === null ? null : String(timestamp),
    compositeProfile: optionalId(
      problems,
      `${field}composite-profile-name`,
      pick(item, 'composite-profile-name', 'compositeProfile', 'compositeProfileName', 'composite-profile'),
    ),
  }
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/
/** How Go writes a time that is not set. */
const unset = '0001-01-01T00:00:00Z'

function readActionTime(problems: Problems, field: string, value: unknown): Millis | null {
  const time = typeof value === 'string' && instant.test(value) ? readTime(value) : null
  if (time !== null) return time
  complain(problems, field, `must be a time such as "2020-08-21T05:37:28.947Z", but is ${shown(value)}`)
  return null
}

type ResourceItem =
  | { readonly ok: true; readonly fact: AppliedResource }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** The values that a group shares. */
interface GroupValues {
  readonly component: unknown
  readonly cluster: unknown
  readonly provider: unknown
}

/**
 * `{"resources":[…]}`, or grouped by app and cluster as in a status answer. An unreadable item does not affect the others.
 * `own`: the cluster of the network intents, so that the items need not name it.
 */
export function* parseResources(body: unknown, own: ClusterName | null): Paced<ResourceItem[]> {
  const nowhere = own
    ? { component: networkIntents, cluster: own.name, provider: own.provider }
    : { component: undefined, cluster: undefined, provider: undefined }
  const items: GroupedItem[] = []
  if (!isObject(body))
    throw refusal(
      [{ field: 'body', message: `must be an object with resources, but is ${shown(body)}` }],
      'The request',
    )
  if (!gather(body, nowhere, '', items))
    throw refusal([{ field: 'resources', message: `must be a list, but is ${shown(body.resources)}` }], 'The request')
  return yield* eachPaced(items, ({ item, field, around }) => readResource(item, field, around))
}

const ofResources: Room = { elements: {} }
const ofClusters: Room = { elements: { members: { resources: ofResources } } }

/** These lists may be large; each of their elements may not. */
export const roomForResources: Room = {
  members: {
    resources: ofResources,
    clusters: ofClusters,
    apps: { elements: { members: { resources: ofResources, clusters: ofClusters } } },
  },
}

/** The app name for a cluster's own resources. */
const networkIntents = 'network-intents'

interface GroupedItem {
  readonly item: unknown
  readonly field: string
  readonly around: GroupValues
}

/** Whether the body has such a list. */
function gather(body: Body, around: GroupValues, path: string, into: GroupedItem[]): boolean {
  if (Array.isArray(body.resources)) {
    for (const [index, item] of body.resources.entries())
      add(into, { item, field: `${path}resources[${index}]`, around })
    return true
  }
  for (const [key, within] of [
    ['apps', (app: Body): GroupValues => ({ ...around, component: pick(app, 'name', 'app') })],
    [
      'clusters',
      (cluster: Body): GroupValues => ({
        ...around,
        cluster: pick(cluster, 'cluster', 'clusterName'),
        provider: pick(cluster, 'cluster-provider', 'clusterProvider'),
      }),
    ],
  ] as const) {
    const { [key]: list } = body
    if (!Array.isArray(list)) continue
    for (const [index, group] of list.entries()) {
      const field = `${path}${key}[${index}]`
      const isGroup = isObject(group) && gather(group, within(group), `${field}.`, into)
      if (!isGroup) add(into, { item: group, field, around })
    }
    return true
  }
  return false
}

function add(into: GroupedItem[], gathered: GroupedItem): void {
  if (into.length === mostItems) {
    const message = `must have at most ${mostItems} items. Send them in several requests`
    throw refusal([{ field: 'resources', message }], 'The request')
  }
  into.push(gathered)
}

function readResource(item: unknown, field: string, around: GroupValues): ResourceItem {
  const problems: Problems = { list: null }
  if (!isObject(item)) return { ok: false, problems: [{ field, message: `must be an object, but is ${shown(item)}` }] }
  const component = readId(problems, `${field}.app`, pick(item, 'app', 'App') ?? around.component)
  const target = readCluster(problems, `${field}.cluster`, item, around)
  const gvk = readGvk(problems, `${field}.GVK`, pick(item, 'GVK', 'gvk'))
  const name = readId(problems, `${field}.name`, pick(item, 'name', 'Name'))
  const namespace = optionalId(problems, `${field}.namespace`, pick(item, 'namespace', 'Namespace'))
  const word = pick(item, 'rsync-status', 'rsyncStatus', 'deployedStatus', 'status')
  const sync = isAbsent(word) || word === '' ? 'PENDING' : toSync(word)
  if (!sync)
    complain(problems, `${field}.rsync-status`, `must be one of ${syncWords.join(', ')}, but is ${shown(word)}`)
  if (problems.list || !component || !target || !gvk || !name || !sync)
    return { ok: false, problems: problems.list ?? [] }
  const fact = { component, target, ...gvk, name, namespace, sync, showable: canShow(gvk.group, gvk.kind) }
  const { detail } = item
  // What explains does not cost the status.
  if (detail !== null && !isObject(detail)) return { ok: true, fact }
  return { ok: true, fact: { ...fact, detail: toDetail(detail, detailLimit, gvk.kind) } }
}

function readCluster(problems: Problems, field: string, item: Body, around: GroupValues): ClusterName | null {
  const cluster = pick(item, 'cluster', 'Cluster') ?? around.cluster
  const provider = pick(item, 'cluster-provider', 'clusterProvider') ?? around.provider
  const isApart = typeof cluster === 'string' && typeof provider === 'string' && !cluster.includes('+')
  const named = typeof cluster === 'string' ? parseCluster(isApart ? `${provider}+${cluster}` : cluster) : null
  if (!named || (isApart && named.name !== cluster)) {
    complain(problems, field, `must be provider+name, but is ${shown(isApart ? `${provider}+${cluster}` : cluster)}`)
    return null
  }
  const parts = [named.provider, named.name].map((part) => readId(problems, field, part))
  return parts.includes(null) ? null : named
}

function readGvk(problems: Problems, field: string, value: unknown) {
  if (!isObject(value)) {
    complain(problems, field, `must be an object with Group, Version and Kind, but is ${shown(value)}`)
    return null
  }
  const kind = readId(problems, `${field}.Kind`, pick(value, 'Kind', 'kind'))
  const group = optionalId(problems, `${field}.Group`, pick(value, 'Group', 'group')) ?? ''
  const version = optionalId(problems, `${field}.Version`, pick(value, 'Version', 'version')) ?? ''
  return kind === null ? null : { group, version, kind }
}

export function parseConnectivity(body: unknown): Connectivity {
  const word = isObject(body) ? pick(body, 'connectivity', 'Connectivity') : body
  const connectivity = toConnectivity(word)
  if (connectivity) return connectivity
  const message = `must be one of ${connectivityWords.join(', ')}, but is ${shown(word)}`
  throw refusal([{ field: 'connectivity', message }], 'The request')
}

/** The value of the first key that is present. */
function pick(body: Body, ...keys: readonly string[]): unknown {
  const found = keys.find((key) => Object.hasOwn(body, key) && !isAbsent(body[key]))
  return found === undefined ? undefined : body[found]
}

/** EMCO writes "" for an absent value. */
function optionalId(problems: Problems, field: string, value: unknown): string | null {
  return isAbsent(value) || value === '' ? null : readId(problems, field, value)
}
