/** EMCO's two resources that have a status (docs/wire.md §2.1), and where their facts are fed. Ids are decoded here, so that %2F stays part of one. */
import type { Lifecycle } from '../../domain/lifecycle.ts'
import { clusterIntents, deploymentIntentGroup, type RolloutName } from '../../domain/rollout.ts'
import { complain, type Problems, refusal } from '../margo/problems.ts'
import { readId } from '../margo/text.ts'

export type EmcoRollout = RolloutName & { readonly kind: Lifecycle }

/** A cluster as EMCO names it: `provider+name`. */
export interface ClusterName {
  readonly kind: 'CLUSTER'
  readonly provider: string
  readonly name: string
}

export type EmcoRoute = { readonly rollout: EmcoRollout } & (
  | { readonly of: 'status' }
  | { readonly of: 'actions' }
  | { readonly of: 'resources'; readonly contextId: string }
  | { readonly of: 'bundle'; readonly cluster: ClusterName }
  | { readonly of: 'connectivity'; readonly cluster: ClusterName }
)

/** Null: not one of these. Throws SEMANTIC_ERROR when a part is empty, too long or cannot be decoded. */
export function matchEmcoRoute(path: string): EmcoRoute | null {
  const [empty, v2, ...rest] = path.split('/')
  if (empty !== '' || v2 !== 'v2') return null
  if (rest[0] === 'projects' && rest[2] === 'composite-apps' && rest[5] === 'deployment-intent-groups') {
    const [, project, , app, version, , group, ...tail] = rest
    const what = shapeOf(tail)
    if (!what || what === 'connectivity') return null
    const named = decode({ project, 'composite-app': app, version, 'deployment-intent-group': group })
    const rollout = deploymentIntentGroup(
      named.project,
      named['composite-app'],
      named.version,
      named['deployment-intent-group'],
    )
    return routeOf(rollout as EmcoRollout, tail, null)
  }
  if (rest[0] === 'cluster-providers' && rest[2] === 'clusters') {
    const [, provider, , cluster, ...tail] = rest
    if (!shapeOf(tail)) return null
    const named = decode({ 'cluster-provider': provider, cluster })
    const place = { kind: 'CLUSTER', provider: named['cluster-provider'], name: named.cluster } as const
    return routeOf(clusterIntents(place.provider, place.name) as EmcoRollout, tail, place)
  }
  return null
}

function shapeOf(tail: readonly string[]): 'status' | 'actions' | 'resources' | 'bundle' | 'connectivity' | null {
  const [first, , third] = tail
  if (tail.length === 1 && (first === 'status' || first === 'actions' || first === 'connectivity')) return first
  if (tail.length === 2 && first === 'resource-bundle-states') return 'bundle'
  return tail.length === 3 && first === 'instances' && third === 'resources' ? 'resources' : null
}

function routeOf(rollout: EmcoRollout, tail: readonly string[], own: ClusterName | null): EmcoRoute | null {
  const [, id] = tail
  switch (shapeOf(tail)) {
    case 'status':
      return { rollout, of: 'status' }
    case 'actions':
      return { rollout, of: 'actions' }
    case 'resources':
      return { rollout, of: 'resources', contextId: decode({ contextId: id }).contextId }
    case 'bundle': {
      const cluster = parseCluster(decode({ cluster: id }).cluster)
      if (!cluster) throw refusal([{ field: 'cluster', message: 'must be provider+name' }], 'The path')
      return { rollout, of: 'bundle', cluster }
    }
    case 'connectivity':
      return own && { rollout, of: 'connectivity', cluster: own }
    default:
      return null
  }
}

/** Null: it is not `provider+name`. */
export function parseCluster(text: string): ClusterName | null {
  const cut = text.indexOf('+')
  if (cut < 1 || cut === text.length - 1) return null
  return { kind: 'CLUSTER', provider: text.slice(0, cut), name: text.slice(cut + 1) }
}

function decode<Field extends string>(parts: Readonly<Record<Field, string | undefined>>): Record<Field, string> {
  const problems: Problems = { list: null }
  const decoded = {} as Record<Field, string>
  for (const [field, encoded] of Object.entries(parts) as [Field, string | undefined][]) {
    try {
      decoded[field] = readId(problems, field, decodeURIComponent(encoded ?? '')) ?? ''
    } catch {
      complain(problems, field, 'must be percent-encoded UTF-8')
    }
  }
  if (problems.list) throw refusal(problems.list, 'The path')
  return decoded
}
