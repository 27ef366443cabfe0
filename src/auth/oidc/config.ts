/** What OIDC sign-in is configured with (docs/sign-in.md). */
import type { RoleTable } from './rights.ts'

export interface OidcConfig {
  readonly issuer: string
  /** Those of an issuer of many tenants whose persons may sign in. Null: it has one. */
  readonly tenants: readonly string[] | null
  /** What the page calls the issuer. */
  readonly name: string
  readonly clientId: string
  /** Null: a public client. */
  readonly clientSecret: string | null
  readonly scopes: string
  /** A dot selects a member of an object. */
  readonly groupsClaim: string
  readonly roles: RoleTable
}
