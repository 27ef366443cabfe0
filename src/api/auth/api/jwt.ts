/** Reads the principal, the expiry and the access of a token that an external issuer signed. */
import { noScope, parseScopes } from '../../../domain/access-scope.ts'
import { type Principal, type Role, roles } from '../../../domain/principal.ts'
import { claimOf, createTokenVerifier, type SignedTokenConfig, TokenRefused } from '../signed-token.ts'

export interface JwtConfig extends SignedTokenConfig {
  /** Names of claims. A dot selects a member of an object (`realm_access.roles`). */
  readonly rolesClaim: string
  readonly scopesClaim: string
}

/** No `Date` is later. A token that never expires may have any number. */
const latestTime = 8_640_000_000_000_000

type VerifyJwt = (text: string, now: number) => Promise<Principal>

export function createJwtVerifier(config: JwtConfig): VerifyJwt {
  const { clockSkew, rolesClaim, scopesClaim } = config
  const verify = createTokenVerifier(config)

  return async (text, now) => {
    const payload = await verify(text, now)
    const accessScope = parseScopes(scopesIn(claimOf(payload, scopesClaim)))
    if (typeof accessScope === 'string')
      throw new TokenRefused('claims', `its claim ${scopesClaim} cannot be read: ${accessScope}`)
    const { sub = 'a token without a subject' } = payload
    if (typeof sub !== 'string') throw new TokenRefused('claims', 'its claim sub must be a text')
    return {
      name: sub,
      roles: listOf(claimOf(payload, rolesClaim)).filter((role): role is Role => roles.some((one) => one === role)),
      accessScope,
      credential: { kind: 'jwt', text },
      expiresAt: Math.min(((payload.exp ?? 0) + clockSkew) * 1000, latestTime),
    }
  }
}

/** An absent claim does not restrict the token. An empty claim grants nothing: an issuer writes it if the caller has no scope. */
function scopesIn(claim: unknown): string[] {
  const scopes = listOf(claim)
  return claim !== undefined && scopes.length === 0 ? [noScope] : scopes
}

/** A list, or a text separated by spaces, as OAuth writes scopes. Any other value becomes an item that no parser accepts, in a list too: `[["admin"]]` is no role. */
function listOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '')
  return [value].flat().map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
}
