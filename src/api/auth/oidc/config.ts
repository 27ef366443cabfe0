/** What OIDC sign-in is configured with (docs/sign-in.md). */
import type { RoleTable } from './rights.ts'

export interface OidcConfig {
  readonly issuer: string
  /** The tenants whose persons may sign in, for an issuer of many tenants. Null: the issuer has one. */
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
  /** What access tokens of persons are for: the address of `/mcp`. Null: none are accepted. */
  readonly resource: string | null
}
