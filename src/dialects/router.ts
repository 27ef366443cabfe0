/**
 * Routes by path, in a tree of segments: a lookup costs the same however many routes there are.
 *
 *   /device/:deviceId/status   `:deviceId` is one segment, as sent: an encoded slash (%2F) stays part of it
 *   /assets/*                  `*` is the rest of the path, at least one character
 *
 * A router such as find-my-way decodes the whole path first, and has no route for an ID that is empty or cannot be decoded. Such an ID
 * is an error that names the field (docs/wire.md §1.3).
 */
import { complain, type Problems, refusal, shown } from './margo/problems.ts'
import { readId } from './margo/text.ts'

/** Segments by name, as sent; `*` is the rest. */
export type Segments = Readonly<Record<string, string>>

export interface Route<Found> {
  readonly template: string
  /** May throw SEMANTIC_ERROR. */
  readonly read: (segments: Segments, path: string) => Found | null
}

interface Leaf<Found> extends Route<Found> {
  readonly names: readonly (readonly [name: string, index: number])[]
}

interface Node<Found> {
  readonly fixed: Map<string, Node<Found>>
  any: Node<Found> | null
  route: Leaf<Found> | null
  rest: Leaf<Found> | null
}

const newNode = (): Node<never> => ({ fixed: new Map(), any: null, route: null, rest: null })

/** Finds what a path means; null: there is no route. A segment that a template names comes before `:` and `*`. */
export function createRouter<Found>(routes: Iterable<Route<Found>>): (path: string) => Found | null {
  const root: Node<Found> = newNode()
  for (const route of routes) add(root, route)
  return (path) => {
    const parts = path.split('/')
    const leaf = parts[0] === '' ? find(root, parts, 1) : null
    if (!leaf) return null
    const segments: Record<string, string> = {}
    for (const [name, index] of leaf.names)
      segments[name] = name === '*' ? parts.slice(index).join('/') : (parts[index] ?? '')
    return leaf.read(segments, path)
  }
}

function add<Found>(root: Node<Found>, route: Route<Found>): void {
  let node = root
  const names: [string, number][] = []
  for (const [index, part] of route.template.split('/').entries()) {
    if (index === 0) continue
    if (part === '*') names.push([part, index])
    else if (part.startsWith(':')) {
      names.push([part.slice(1), index])
      node = node.any ??= newNode()
    } else {
      const next = node.fixed.get(part) ?? newNode()
      node.fixed.set(part, next)
      node = next
    }
  }
  const place = names.at(-1)?.[0] === '*' ? 'rest' : 'route'
  if (node[place]) throw new Error(`two routes have the path ${route.template}`)
  node[place] = { ...route, names }
}

function find<Found>(
  { fixed, any, route, rest }: Node<Found>,
  parts: readonly string[],
  at: number,
): Leaf<Found> | null {
  const part = parts[at]
  if (part === undefined) return route
  const named = fixed.get(part)
  const hasRest = part !== '' || at < parts.length - 1
  return (named && find(named, parts, at + 1)) ?? (any && find(any, parts, at + 1)) ?? (hasRest ? rest : null)
}

/** Decodes the segments. Throws SEMANTIC_ERROR that names each one that is empty, too long or cannot be decoded. */
export function readIds<Name extends string>(segments: Readonly<Record<Name, string>>): Readonly<Record<Name, string>> {
  const problems: Problems = { list: null }
  const ids: Record<string, string> = {}
  for (const field in segments) ids[field] = readPathId(problems, field, segments[field]) ?? ''
  if (problems.list !== null) throw refusal(problems.list, 'The path')
  return ids as Record<Name, string>
}

export function readPathId(problems: Problems, field: string, encoded: string): string | null {
  try {
    return readId(problems, field, encoded.includes('%') ? decodeURIComponent(encoded) : encoded)
  } catch {
    complain(problems, field, `must be percent-encoded UTF-8, but is ${shown(encoded)}`)
    return null
  }
}
