/** /v1/instance and what is below it. Ids are decoded here, so that %2F stays part of one. */
import { complain, type Problems, refusal } from '../margo/problems.ts'
import { readId } from '../margo/text.ts'

export type K8spluginRoute =
  | { readonly of: 'instances' }
  | { readonly of: 'instance'; readonly instanceId: string }
  | { readonly of: 'status'; readonly instanceId: string }
  | { readonly of: 'subscriptions'; readonly instanceId: string }
  | { readonly of: 'subscription'; readonly instanceId: string; readonly subscription: string }

/** Null: not one of these. Throws SEMANTIC_ERROR when an id is empty, too long or cannot be decoded. */
export function matchK8spluginRoute(path: string): K8spluginRoute | null {
  const [, v1, instance, ...rest] = path.split('/')
  if (v1 !== 'v1' || instance !== 'instance') return null
  if (rest.length === 0) return { of: 'instances' }
  const [id = '', status, subscription, name] = rest
  if (rest.length === 1) return { of: 'instance', instanceId: decode(id, 'instanceId') }
  if (status !== 'status' || rest.length > 4) return null
  if (rest.length === 2) return { of: 'status', instanceId: decode(id, 'instanceId') }
  if (subscription !== 'subscription') return null
  const instanceId = decode(id, 'instanceId')
  if (name === undefined) return { of: 'subscriptions', instanceId }
  return { of: 'subscription', instanceId, subscription: decode(name, 'subscription') }
}

function decode(encoded: string, field: string): string {
  const problems: Problems = { list: null }
  try {
    const id = readId(problems, field, decodeURIComponent(encoded))
    if (id !== null) return id
  } catch {
    complain(problems, field, 'must be percent-encoded UTF-8')
  }
  throw refusal(problems.list ?? [], 'The path')
}
