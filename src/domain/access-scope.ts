/**
 * The part of the fleet that a caller may see. Everything else does not exist for that caller: it is in no list, count, neighbour
 * or change, and its id resolves to nothing. store/read/access-scope.ts applies the scope to each kind of row.
 */
import type { Label } from './target.ts'
import type { Millis } from './values.ts'

/** The values of a field are alternatives; both fields must match. Null: the field restricts nothing. */
export interface AccessScope {
  /** Devices with one of these labels. */
  readonly labels: readonly Label[] | null
  /** Rollouts in one of these projects. */
  readonly projects: readonly string[] | null
}

const maxScopes = 100

/** A credential with this scope alone sees nothing. */
export const noScope = 'none'

/** Parses `label:<key>=<value>`, `project:<name>` and `none`. No scopes mean the whole fleet (null). Returns text if a scope is invalid or there are too many. */
export function parseScopes(scopes: readonly string[]): AccessScope | null | string {
  if (scopes.length > maxScopes) return `at most ${maxScopes} scopes are allowed, not ${scopes.length}`
  const labels: Label[] = []
  const projects: string[] = []
  for (const scope of scopes) {
    if (scope === noScope) continue
    const [, kind, rest = ''] = /^(label|project):(.+)$/s.exec(scope) ?? []
    const cut = rest.indexOf('=')
    if (scope.includes('\0') || !kind || (kind === 'label' && cut < 1))
      return `${JSON.stringify(scope.slice(0, 100))} is not a scope: use label:<key>=<value> or project:<name>`
    if (kind === 'project') projects.push(rest)
    else labels.push({ key: rest.slice(0, cut), value: rest.slice(cut + 1) })
  }
  if (scopes.length === 0) return null
  if (scopes.every((scope) => scope === noScope)) return { labels: [], projects: [] }
  return { labels: labels.length > 0 ? labels : null, projects: projects.length > 0 ? projects : null }
}

export function scopesOf(accessScope: AccessScope | null): string[] {
  if (accessScope === null) return []
  const labels = accessScope.labels?.map(({ key, value }) => `label:${key}=${value}`) ?? []
  const scopes = [...labels, ...(accessScope.projects?.map((project) => `project:${project}`) ?? [])]
  // An empty list would mean the whole fleet.
  return scopes.length > 0 ? scopes : [noScope]
}

/** Equal for scopes that show the same part of the fleet. */
export function accessScopeKey(accessScope: AccessScope | null): string {
  return JSON.stringify(scopesOf(accessScope).sort())
}

/** A caller with an access scope learns only to so many milliseconds when something changed that it does not see. */
const hiddenTimes = 10_000

export function roundDown(time: Millis): Millis {
  return Math.floor(time / hiddenTimes) * hiddenTimes
}

export function roundUp(time: Millis): Millis {
  return Math.ceil(time / hiddenTimes) * hiddenTimes
}
