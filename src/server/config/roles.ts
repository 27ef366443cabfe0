/** Reads OIDC_ROLES: which groups of the issuer have which role and scopes. */
import { z } from 'zod'
import type { RoleTable } from '../../api/auth/oidc/rights.ts'
import { parseScopes } from '../../domain/access-scope.ts'
import { roles } from '../../domain/principal.ts'

/** The scopes of several groups together must not exceed what a caller may have. */
const mostScopes = 100

const role = z.enum(roles, { error: `must be one of ${roles.join(', ')}` })
const scope = z.string({ error: 'must be a text' }).superRefine((text, context) => {
  const parsed = parseScopes([text])
  if (typeof parsed === 'string') context.addIssue(parsed)
})
const error = 'must be a role, or an object with role and scopes'
const grant = z.union([role, z.strictObject({ role, scopes: z.array(scope).min(1).optional() }, { error })], { error })
const table = z.record(z.string().min(1), grant, { error: 'must be an object from groups to roles' })

export function readRoleTable(
  given: unknown,
): { readonly grants: RoleTable } | { readonly problems: readonly string[] } {
  const { data, error: refusal } = table.safeParse(given)
  if (refusal) return { problems: refusal.issues.flatMap((issue) => describe(issue, issue.path)) }
  const grants = Object.entries(data).map(([group, value]) =>
    typeof value === 'string'
      ? { group, role: value, scopes: [] }
      : { group, role: value.role, scopes: value.scopes ?? [] },
  )
  if (grants.length === 0) return { problems: ['must name at least one group'] }
  const count = grants.reduce((sum, { scopes }) => sum + scopes.length, 0)
  return count > mostScopes ? { problems: [`must have at most ${mostScopes} scopes, not ${count}`] } : { grants }
}

/** A value must be a role or an object with one. The problems of the object say more than "invalid union". */
function describe(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string[] {
  if (issue.code === 'invalid_union') {
    const object = issue.errors.find((each) => each.some(({ path: inner }) => inner.length > 0)) ?? []
    if (object.length > 0) return object.flatMap((each) => describe(each, [...path, ...each.path]))
  }
  return [path.length === 0 ? issue.message : `at ${path.map(String).join('.')}: ${issue.message}`]
}
