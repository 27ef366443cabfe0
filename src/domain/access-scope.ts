/**
 * How much of the fleet somebody may see. What lies outside does not exist for him: it is in no list and no count, has no id, is
 * nobody's neighbour, and nothing that happens to it is told. store/read/access-scope.ts says what that means for each kind of row.
 */
import type { Label } from './target.ts'

/** Any of these within a field, both fields together; null: that field narrows nothing. */
export interface AccessScope {
  /** Of devices: one of these labels. */
  readonly labels: readonly Label[] | null
  /** Of rollouts: in one of these projects. */
  readonly projects: readonly string[] | null
}

const maxScopes = 100

/** A credential with this scope alone sees nothing. */
export const noScope = 'none'

/** `label:<key>=<value>`, `project:<name>`, and `none`; no scope: the whole fleet. Text: one of them cannot be read, or there are too many. */
export function parseScopes(scopes: readonly string[]): AccessScope | null | string {
  if (scopes.length > maxScopes) return `at most ${maxScopes} scopes are taken, not ${scopes.length}`
  const labels: Label[] = []
  const projects: string[] = []
  for (const scope of scopes) {
    if (scope === noScope) continue
    const [, kind, rest = ''] = /^(label|project):(.+)$/s.exec(scope) ?? []
    const cut = rest.indexOf('=')
    if (scope.includes('\0') || !kind || (kind === 'label' && cut < 1))
      return `${JSON.stringify(scope.slice(0, 100))} is no scope: label:<key>=<value> and project:<name> are`
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
  // No scope at all would be the whole fleet.
  return scopes.length > 0 ? scopes : [noScope]
}

/** The same for the same sight. */
export function accessScopeKey(accessScope: AccessScope | null): string {
  return JSON.stringify(scopesOf(accessScope).sort())
}
