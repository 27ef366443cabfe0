/**
 * A Kubernetes object for storage, in any dialect: without secrets, without managedFields, and
 * limited in size (docs/wire.md §6).
 */
import { createHash } from 'node:crypto'
import type { ResourceDetail } from '../../../domain/orchestration/resource.ts'
import { storableJsonText } from '../../../domain/text.ts'

/** Characters of JSON. A cluster allows 1.5 MiB for an object; the display of a status needs less. */
export const detailLimit = 256 * 1024

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

type Json = Readonly<Record<string, unknown>>

/** `kind`: the kind, if the object does not state it. */
export function toDetail(object: unknown, limit = detailLimit, kind: string | null = null): ResourceDetail | null {
  if (object === null || object === undefined) return null
  const clean = withoutSecrets(object, kind)
  const whole = write(clean)
  const { text, isCut } = whole.length <= limit ? { text: whole, isCut: false } : cut(clean, limit)
  const kept = storableJsonText(text)
  return { text: kept, isCut, hash: createHash('sha256').update(kept).digest('base64url').slice(0, 22) }
}

/**
 * Secrets may be nested in a List, or in an object that a controller embeds. Every object of kind Secret loses its content, and so do the
 * items of a SecretList, which inherit their kind. `kind`: the kind that the sender states beside the object. One of the two is enough:
 * typed clients write "" for an unknown kind.
 */
function withoutSecrets(value: unknown, kind: string | null): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, kind))
  if (!isObject(value)) return value
  const kinds = [value.kind, kind].map((one) => (typeof one === 'string' ? one.toLowerCase() : null))
  const isSecret = kinds.includes('secret')
  const items = kinds.includes('secretlist') ? 'Secret' : null
  const kept = Object.entries(value).filter(([key]) => !isSecret || (key !== 'data' && key !== 'stringData'))
  return Object.fromEntries(
    kept.map(([key, member]) => [
      key,
      key === 'metadata' && isObject(member)
        ? cleanMetadata(member, isSecret)
        : withoutSecrets(member, key === 'items' ? items : null),
    ]),
  )
}

function cleanMetadata({ managedFields, ...metadata }: Json, isSecret: boolean): Json {
  if (!isSecret || !isObject(metadata.annotations)) return metadata
  const { [lastApplied]: dropped, ...annotations } = metadata.annotations
  return { ...metadata, annotations }
}

/** Identity and status are kept longest. */
function cut(object: unknown, limit: number): { text: string; isCut: boolean } {
  if (!isObject(object)) return { text: 'null', isCut: true }
  const { apiVersion, kind, metadata, status } = object
  const { annotations, ...essentials } = isObject(metadata) ? metadata : { annotations: null }
  const shorter = [
    { apiVersion, kind, metadata, status },
    { apiVersion, kind, metadata: essentials, status },
    { apiVersion, kind, metadata: essentials },
  ]
  const text = shorter.map(write).find((candidate) => candidate.length <= limit)
  return { text: text ?? '{}', isCut: true }
}

/** Integers that a double cannot hold are bigint (json.ts). They are written with all their digits. */
function write(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? rawJSON(String(member)) : member)) ?? 'null'
}

/** From ES2026. The compiler's library does not declare it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
