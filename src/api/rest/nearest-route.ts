/** The route that a client probably meant by a path that does not exist. */

import { editDistance } from '../../domain/edit-distance.ts'
import type { Dialect } from '../../ingest/dialects/dialect.ts'
import { dialects } from '../../ingest/dialects/index.ts'

const own = [
  'POST /graphql',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /version',
  'GET /session',
  'GET /export/changes',
  'GET /export/reports',
  'GET /export/deployments',
  'GET /export/devices',
  'GET /export/audit',
  'GET /openapi.json',
  'GET /openapi.yaml',
  'GET /asyncapi.json',
  'GET /asyncapi.yaml',
]

/** Routes that hand-written clients use, and that answer without an object of theirs. */
export function suggestedRoutes(spoken: readonly Dialect[]): readonly string[] {
  return [...spoken.flatMap(({ suggested = [] }) => suggested), ...own]
}

export const routes = suggestedRoutes(dialects)

/** The largest distance of a suggested route. */
const most = 12
/** The cost of a missing or extra part, in wrong letters. */
const wholePart = 7
/** The number of parts that are compared. */
const mostParts = 12
const longestPart = 64

/** What a client that asked for the path can do. */
export function adviceFor(path: string, suggested = routes): string {
  if (path === '/session/oidc' || path.startsWith('/session/oidc/'))
    return 'this server has no sign-in for persons, which OIDC_ISSUER configures'
  const near = nearestRoute(path, suggested)
  if (near !== null) return `the nearest route is ${near}`
  return 'docs/reporting.md, docs/desired-state.md, docs/orchestrators.md and docs/export.md list the routes'
}

export function nearestRoute(path: string, suggested = routes): string | null {
  const given = path.split('/', mostParts + 1).slice(1)
  const ranked = suggested
    .filter((route) => Math.abs(given.length - partsOf(route)) * wholePart <= most)
    .map((route) => ({ route, distance: distance(given, route.split('/').slice(1)) }))
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0] && ranked[0].distance <= most ? ranked[0].route : null
}

const partsOf = (route: string): number => route.split('/').length - 1

/** Edit distance with path parts instead of letters. */
function distance(given: readonly string[], wanted: readonly string[]): number {
  let above = wanted.map((_, j) => (j + 1) * wholePart)
  above.unshift(0)
  for (const [i, part] of given.entries()) {
    const row = [(i + 1) * wholePart]
    for (const [j, name] of wanted.entries())
      row.push(
        Math.min(
          (above[j + 1] ?? 0) + wholePart,
          (row[j] ?? 0) + wholePart,
          (above[j] ?? 0) + partDistance(part.slice(0, longestPart), name),
        ),
      )
    above = row
  }
  return above.at(-1) ?? 0
}

function partDistance(part: string, name: string): number {
  if (name.startsWith('{')) return part === '' ? wholePart : 0
  // A distance costs the product of the lengths, and anyone may send a long path.
  if (Math.abs(part.length - name.length) * 2 > name.length) return 2 * most
  const wrong = editDistance(part.toLowerCase(), name)
  return wrong * 3 <= name.length ? wrong : 2 * most
}
