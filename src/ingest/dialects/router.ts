/**
 * Routes by path, with find-my-way: a lookup costs the same however many routes there are.
 *
 *   /device/:deviceId/status   `:deviceId` is one segment, as sent: an encoded slash (%2F) stays part of it
 *   /assets/*                  `*` is the rest of the path, at least one character
 *
 * find-my-way decodes each path, and finds no route for a path that it cannot decode. Here such an ID is an error that names the field
 * (docs/wire.md §1.3). So a path is encoded once more before the lookup, and the segments come back as sent.
 */
import createTree from 'find-my-way'
import { complain, type Problems, refusal, shown } from '../../platform/body/problems.ts'
import { readId } from '../../platform/body/text.ts'

/** Segments by name, as sent; `*` is the rest. */
export type Segments = Readonly<Record<string, string>>

export interface Route<Found> {
  readonly template: string
  /** Of several that mean the same: the part before it that others lack, and its name among them, such as a generation. */
  readonly copy?: { readonly prefix: string; readonly of: string }
  /** May throw SEMANTIC_ERROR. */
  readonly read: (segments: Segments, path: string) => Found | null
}

const nameOrRest = /:([\w-]+)|\*$/g

/** Finds what a path means; null: there is no route. A segment that a template names comes before `:` and `*`. `matched`: called with the template. */
export function createRouter<Found>(
  routes: Iterable<Route<Found>>,
  matched?: (template: string) => void,
): (path: string) => Found | null {
  const router = createTree({ maxParamLength: Number.MAX_SAFE_INTEGER })
  for (const route of routes) {
    const names = [...route.template.matchAll(nameOrRest)].map(([, name = '*']) => name)
    // In find-my-way a hyphen ends a name.
    const template = route.template.replace(nameOrRest, (part) => part.replaceAll('-', '_'))
    router.on('GET', template, () => {}, { route, names })
  }
  return (path) => {
    // For find-my-way, `*` is the root.
    const found = path.startsWith('/') ? router.find('GET', path.replace(/[%#?]/g, encodeURIComponent)) : null
    if (!found) return null
    const { route, names }: { route: Route<Found>; names: readonly string[] } = found.store
    const values = Object.values(found.params)
    if (names.at(-1) === '*' && values.at(-1) === '') return null
    matched?.(route.template)
    return route.read(Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])), path)
  }
}

export function mapRoutes<Found, Result>(
  routes: readonly Route<Found>[],
  resultOf: (found: Found) => Result,
): readonly Route<Result>[] {
  return routes.map(({ read, ...route }) => ({
    ...route,
    read(segments, path) {
      const found = read(segments, path)
      return found && resultOf(found)
    },
  }))
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
