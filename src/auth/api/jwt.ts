/** Tokens that somebody else signs: whose, for how long, and what their claims allow here. */
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { DomainError } from '../../domain/errors.ts'
import { type Identity, type Role, roles } from '../../domain/identity.ts'
import { parseScopes } from '../../domain/sight.ts'

export interface JwtConfig {
  /** Where the issuer publishes its keys; null: `secret` is the key. */
  readonly jwksUrl: string | null
  readonly secret: string | null
  readonly issuer: string | null
  readonly audience: string | null
  /** Seconds that two clocks may differ. */
  readonly clockSkew: number
  /** Names of claims; a dot leads into an object (`realm_access.roles`). */
  readonly rolesClaim: string
  readonly scopesClaim: string
}

export type VerifyJwt = (text: string, now: number) => Promise<Identity>

const shared = ['HS256', 'HS384', 'HS512']
const published = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']

/** Keys that were withdrawn are good for so long at most. */
const keysAge = 60_000

export function looksLikeJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)
}

export function createJwtVerifier(config: JwtConfig): VerifyJwt {
  const { jwksUrl, secret, issuer, audience, clockSkew, rolesClaim, scopesClaim } = config
  const key: Uint8Array | JWTVerifyGetKey = jwksUrl
    ? createRemoteJWKSet(new URL(jwksUrl), { cacheMaxAge: keysAge, cooldownDuration: 5_000, timeoutDuration: 5_000 })
    : new TextEncoder().encode(secret ?? '')
  const options = {
    algorithms: jwksUrl ? published : shared,
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
    ...(issuer === null ? {} : { issuer }),
    ...(audience === null ? {} : { audience }),
  }

  return async (text, now) => {
    const verified = { ...options, currentDate: new Date(now) }
    const { payload } = await (typeof key === 'function'
      ? jwtVerify(text, key, verified)
      : jwtVerify(text, key, verified)
    ).catch((error: unknown) => {
      throw explain(error)
    })
    const sight = parseScopes(listOf(claim(payload, scopesClaim)))
    if (typeof sight === 'string') throw refused(`its claim ${scopesClaim} cannot be read: ${sight}`)
    return {
      name: payload.sub ?? 'a token without a subject',
      roles: listOf(claim(payload, rolesClaim)).filter((role): role is Role => roles.some((one) => one === role)),
      sight,
      credential: { kind: 'jwt', text },
      expiresAt: ((payload.exp ?? 0) + clockSkew) * 1000,
    }
  }
}

function explain(error: unknown): DomainError {
  if (error instanceof errors.JWTExpired) return refused('it has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(`its claim ${error.claim} is not what is asked for`)
  if (error instanceof errors.JOSEAlgNotAllowed) return refused('its algorithm is not taken')
  const isBad =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JOSENotSupported
  if (isBad) return refused('its signature is not one of those that are trusted')
  return new DomainError('UNAVAILABLE', 'the keys that tokens are checked with cannot be had: try again later', {
    cause: error,
  })
}

function refused(why: string): DomainError {
  return new DomainError('UNAUTHENTICATED', `the token is refused: ${why}`)
}

function claim(payload: JWTPayload, name: string): unknown {
  if (name in payload) return payload[name]
  let value: unknown = payload
  for (const step of name.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as JWTPayload)[step] : null
  return value
}

/** A list, or a text with spaces between (as OAuth writes its scopes). Anything else that is there cannot be read. */
function listOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '')
  return Array.isArray(value) ? value.map(String) : [JSON.stringify(value)]
}
