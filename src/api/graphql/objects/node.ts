/**
 * Node IDs: opaque to clients, `<type>:<key>[@<revision>][:<name>]` in base64url. The ID of an object as of a past
 * revision contains that revision, so that a client's cache does not mix past and present.
 */
import type { Revision } from '../../../domain/values.ts'

export type NodeType =
  | 'Deployment'
  | 'Component'
  | 'Rollout'
  | 'Device'
  | 'Cluster'
  | 'Site'
  | 'Resource'
  | 'RolloutInstance'
  | 'Report'
  | 'Alert'
  | 'Sink'
  | 'Delivery'

interface NodeId {
  readonly type: NodeType
  /** For a component and a report: the key of its deployment. */
  readonly key: number
  readonly asOf: Revision | null
  /** Of a component. For a report: its key. */
  readonly name: string | null
}

export function encodeNodeId(type: NodeType, key: number, asOf: Revision | null, name: string | null = null): string {
  const text = `${type}:${key}${asOf === null ? '' : `@${asOf}`}${name === null ? '' : `:${name}`}`
  return Buffer.from(text).toString('base64url')
}

const form =
  /^(Deployment|RolloutInstance|Rollout|Resource|Device|Cluster|Site|Component|Report|Alert|Sink|Delivery):(\d{1,16})(?:@(\d{1,16}))?(?::(.*))?$/s

const withoutPast: ReadonlySet<NodeType> = new Set(['Report', 'Sink', 'Delivery'])

/** Null: the server never issued this ID. */
export function decodeNodeId(id: string): NodeId | null {
  const [, type, key, asOf, name] = form.exec(Buffer.from(id, 'base64url').toString()) ?? []
  if (type === undefined) return null
  const decoded: NodeId = {
    type: type as NodeType,
    key: Number(key),
    asOf: asOf === undefined ? null : Number(asOf),
    name: name ?? null,
  }
  const isPart = decoded.type === 'Component' || decoded.type === 'Report'
  const isWhole = isPart === (decoded.name !== null) && !(withoutPast.has(decoded.type) && decoded.asOf !== null)
  return isWhole && encodeNodeId(decoded.type, decoded.key, decoded.asOf, decoded.name) === id ? decoded : null
}

/** The keys in IDs of this type, present or past. IDs of other types are dropped. */
export function keysOf(type: NodeType, ids: readonly string[] | null | undefined): readonly number[] | null {
  if (!ids) return null
  return ids.map(decodeNodeId).flatMap((id) => (id?.type === type ? [id.key] : []))
}
