/** Tokens that somebody else signs: whose, for how long, and what their claims allow here. */
import { type Identity, type Role, roles } from '../../domain/identity.ts'
import { parseScopes } from '../../domain/sight.ts'
import { claimOf, createTokenVerifier, type SignedTokenConfig, TokenRefused } from '../signed-token.ts'

export interface JwtConfig extends SignedTokenConfig {
  /** Names of claims; a dot leads into an object (`realm_access.roles`). */
  readonly rolesClaim: string
  readonly scopesClaim: string
}

export type VerifyJwt = (text: string, now: number) => Promise<Identity>

export function createJwtVerifier(config: JwtConfig): VerifyJwt {
  const { clockSkew, rolesClaim, scopesClaim } = config
  const verify = createTokenVerifier(config)

  return async (text, now) => {
    const payload = await verify(text, now)
    const sight = parseScopes(listOf(claimOf(payload, scopesClaim)))
    if (typeof sight === 'string') throw new TokenRefused('claims', `its claim ${scopesClaim} cannot be read: ${sight}`)
    return {
      name: payload.sub ?? 'a token without a subject',
      roles: listOf(claimOf(payload, rolesClaim)).filter((role): role is Role => roles.some((one) => one === role)),
      sight,
      credential: { kind: 'jwt', text },
      expiresAt: ((payload.exp ?? 0) + clockSkew) * 1000,
    }
  }
}

/** A list, or a text with spaces between (as OAuth writes its scopes). Anything else that is there cannot be read. */
function listOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '')
  return Array.isArray(value) ? value.map(String) : [JSON.stringify(value)]
}
