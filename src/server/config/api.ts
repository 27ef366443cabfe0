/** The variables that say how callers of the API authenticate, and persons sign in. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { ApiAuthConfig, ApiAuthMethod } from '../../api/auth/api/api-auth.ts'
import type { OidcConfig } from '../../api/auth/oidc/config.ts'
import { secureUrl } from './addresses.ts'
import { readRoleTable } from './roles.ts'
import { anyOf, oidcScopes, secret, skew, tenants } from './values.ts'

/** JSON, or the path of a file of YAML or JSON. */
const roles = z.string().transform((text, context) => {
  const problems = (found: readonly string[]) => {
    for (const problem of found) context.addIssue(problem)
    return z.NEVER
  }
  let content = text
  if (!/^\s*[{[]/.test(text))
    try {
      content = readFileSync(text, 'utf8')
    } catch (error) {
      return problems([`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`])
    }
  try {
    const table = readRoleTable(parse(content))
    return 'problems' in table ? problems(table.problems) : table.grants
  } catch {
    return problems(['is neither JSON nor YAML'])
  }
})

export const apiVariables = {
  API_AUTH: anyOf(['open', 'key', 'jwt']).optional(),
  API_ADMIN_KEY: secret(24).nullable().default(null),
  API_JWT_JWKS_URL: secureUrl.nullable().default(null),
  API_JWT_SECRET: secret(32).nullable().default(null),
  API_JWT_ISSUER: z.string().nullable().default(null),
  API_JWT_AUDIENCE: z.string().nullable().default(null),
  API_JWT_CLOCK_SKEW: skew.default(30),
  API_JWT_ROLES_CLAIM: z.string().default('roles'),
  API_JWT_SCOPES_CLAIM: z.string().default('rollcall_scopes'),
  OIDC_ISSUER: secureUrl.nullable().default(null),
  OIDC_TENANTS: tenants.nullable().default(null),
  OIDC_NAME: z.string().max(100, 'must have at most 100 characters').nullable().default(null),
  OIDC_CLIENT_ID: z.string().nullable().default(null),
  OIDC_CLIENT_SECRET: secret(16).nullable().default(null),
  OIDC_SCOPES: oidcScopes.default('openid profile email'),
  OIDC_GROUPS_CLAIM: z.string().default('groups'),
  OIDC_ROLES: roles.nullable().default(null),
}

type Values = z.infer<z.ZodObject<typeof apiVariables>>

/** Sign-in is a method of its own. Where it is the only one that is configured, the API is not open. */
export function apiMethodsOf({ API_AUTH: given, OIDC_ISSUER: issuer }: Values): readonly ApiAuthMethod[] {
  return issuer === null ? (given ?? ['open']) : [...(given ?? []), 'oidc']
}

/** Entra ID's tenant of all personal Microsoft accounts. Anyone can have one. */
const personalAccounts = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** By the host of their issuer. */
const accountsOfAnyone = new Map([
  ['accounts.google.com', 'a Google account'],
  ['appleid.apple.com', 'an Apple account'],
  ['gitlab.com', 'a GitLab account'],
])

/** Whether a role is given to anyone on the internet. */
export function oidcProblems({ OIDC_ISSUER: issuer, OIDC_TENANTS: tenants, OIDC_ROLES: grants }: Values): string[] {
  if (issuer === null || !grants?.some(({ group }) => group === '*')) return []
  const [, tenant = ''] = /^https:\/\/login\.microsoftonline\.com\/([^/]+)\//.exec(issuer) ?? []
  const isPersonal = [tenant, ...(tenants ?? [])].some((one) => one === 'consumers' || one === personalAccounts)
  const account = isPersonal ? 'a Microsoft account' : accountsOfAnyone.get(new URL(issuer).hostname)
  return account === undefined
    ? []
    : [`OIDC_ROLES has "*", which is every person with ${account} here: name groups instead`]
}

export function apiAuthOf(v: Values): ApiAuthConfig {
  return {
    methods: apiMethodsOf(v),
    adminKey: v.API_ADMIN_KEY,
    oidcIssuer: v.OIDC_ISSUER,
    jwt: v.API_AUTH?.includes('jwt')
      ? {
          jwksUrl: v.API_JWT_JWKS_URL,
          secret: v.API_JWT_SECRET,
          issuer: v.API_JWT_ISSUER,
          audience: v.API_JWT_AUDIENCE,
          clockSkew: v.API_JWT_CLOCK_SKEW,
          rolesClaim: v.API_JWT_ROLES_CLAIM,
          scopesClaim: v.API_JWT_SCOPES_CLAIM,
        }
      : null,
  }
}

/** `mcpUrl`: null if assistants cannot ask, or the address is not known. */
export function oidcOf(v: Values, mcpUrl: string | null): OidcConfig | null {
  if (v.OIDC_ISSUER === null || v.OIDC_CLIENT_ID === null || v.OIDC_ROLES === null) return null
  return {
    issuer: v.OIDC_ISSUER,
    tenants: v.OIDC_TENANTS,
    name: v.OIDC_NAME ?? new URL(v.OIDC_ISSUER).host,
    clientId: v.OIDC_CLIENT_ID,
    clientSecret: v.OIDC_CLIENT_SECRET,
    scopes: v.OIDC_SCOPES,
    groupsClaim: v.OIDC_GROUPS_CLAIM,
    roles: v.OIDC_ROLES,
    // Tokens have one meaning.
    resource: v.API_AUTH?.includes('jwt') ? null : mcpUrl,
  }
}
