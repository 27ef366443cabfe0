/** What the claims of the issuer say about a person. */
import type { JWTPayload } from 'jose'
import { isStorable } from '../../../domain/text.ts'
import { claimOf } from '../signed-token.ts'

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
