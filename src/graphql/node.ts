/**
 * Node ids: opaque outside, `<type>:<key>[@<revision>][:<name>]` in base64url inside. An object of the past has the revision in
 * its id, so that a client's cache keeps now and then apart.
 */
import type { Revision } from '../domain/deployment.ts'

export type NodeType = 'Deployment' | 'Component' | 'Rollout' | 'Device' | 'Cluster' | 'Resource' | 'RolloutInstance'

export interface NodeId {
  readonly type: NodeType
  /** Of a component: its deployment's. */
  readonly key: number
  readonly asOf: Revision | null
  /** Components only. */
  readonly name: string | null
}

export function encodeNodeId(type: NodeType, key: number, asOf: Revision | null, name: string | null = null): string {
  const text = `${type}:${key}${asOf === null ? '' : `@${asOf}`}${name === null ? '' : `:${name}`}`
  return Buffer.from(text).toString('base64url')
}

const form =
  /^(Deployment|RolloutInstance|Rollout|Resource|Device|Cluster|Component):(\d{1,16})(?:@(\d{1,16}))?(?::(.*))?$/s

/** Null: nobody was ever given this id. */
export function decodeNodeId(id: string): NodeId | null {
  const [, type, key, asOf, name] = form.exec(Buffer.from(id, 'base64url').toString()) ?? []
  if (type === undefined) return null
  const decoded: NodeId = {
    type: type as NodeType,
    key: Number(key),
    asOf: asOf === undefined ? null : Number(asOf),
    name: name ?? null,
  }
  const isWhole = (decoded.type === 'Component') === (decoded.name !== null)
  return isWhole && encodeNodeId(decoded.type, decoded.key, decoded.asOf, decoded.name) === id ? decoded : null
}

/** The keys that ids of this type name, whether of the present or of the past; others name nothing and are left out. */
export function keysOf(type: NodeType, ids: readonly string[] | null | undefined): readonly number[] | null {
  if (!ids) return null
  return ids.map(decodeNodeId).flatMap((id) => (id?.type === type ? [id.key] : []))
}
