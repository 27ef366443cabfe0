/** What the claims of the issuer say about a person. */
import type { JWTPayload } from 'jose'
import { noScope, parseScopes } from '../../../domain/access-scope.ts'
import type { Principal } from '../../../domain/principal.ts'
import { isStorable } from '../../../domain/text.ts'
import { claimOf, TokenRefused } from '../signed-token.ts'
import type { OidcConfig } from './config.ts'
import { rightsOf } from './rights.ts'

export interface Person {
  readonly subject: string
  /** For the audit log. A user name may be given to another person later, so the subject is part of it. */
  readonly name: string
  readonly groups: readonly string[]
}

const longestName = 200
/** OpenID Connect Core limits a subject to 255. */
const longestIdentifier = 1_000

/** A subject or session of the issuer. Null: it is none, or one that a database cannot store. */
export function identifierOf(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' && claim.length <= longestIdentifier && isStorable(claim)
    ? claim
    : null
}

export function personOf(claims: JWTPayload, groupsClaim: string): Person {
  const subject = claims.sub ?? ''
  const known = [claims.preferred_username, claims.email].find((name) => typeof name === 'string' && name !== '')
  const name = known === undefined || known === subject ? subject : `${known} (${subject})`
  const groups = claimOf(claims, groupsClaim)
  return {
    subject,
    name: name
      .replaceAll(/\p{Cc}/gu, ' ')
      .slice(0, longestName)
      .toWellFormed(),
    groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === 'string'),
  }
}

/** Of an access token. A person in no group of the table has no role. */
export function principalOf(
  claims: JWTPayload,
  text: string,
  { groupsClaim, roles: table }: Pick<OidcConfig, 'groupsClaim' | 'roles'>,
): Principal {
  if (identifierOf(claims.sub) === null) throw new TokenRefused('claims', 'its claim sub is no subject')
  const { name, groups } = personOf(claims, groupsClaim)
  const { roles, scopes } = rightsOf(groups, table) ?? { roles: [], scopes: [noScope] }
  const accessScope = parseScopes(scopes)
  if (typeof accessScope === 'string') throw new Error(`the scopes of ${name} cannot be read`)
  return { name, roles, accessScope, credential: { kind: 'jwt', text }, expiresAt: (claims.exp ?? 0) * 1_000 }
}
