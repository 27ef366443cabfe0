/** Tokens that somebody else signs (JWT): whether they are good, for whoever reads their claims. */
import {
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { DomainError } from '../domain/errors.ts'

export interface SignedTokenConfig {
  /** Where the issuer publishes its keys; null: `secret` is the key. */
  readonly jwksUrl: string | null
  readonly secret: string | null
  readonly issuer: string | null
  readonly audience: string | null
  /** Seconds that two clocks may differ. */
  readonly clockSkew: number
}

/** Throws TokenRefused, or UNAVAILABLE. */
export type VerifyToken = (text: string, now: number) => Promise<JWTPayload>

export class TokenRefused extends DomainError {
  readonly reason: 'expired' | 'claims' | 'signature'

  constructor(reason: TokenRefused['reason'], why: string) {
    super('UNAUTHENTICATED', `the token is refused: ${why}`)
    this.reason = reason
  }
}

const shared = ['HS256', 'HS384', 'HS512']
const published = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']

/** Keys that were withdrawn are good for so long at most. */
const keysAge = 60_000

export function looksLikeJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)
}

export function createTokenVerifier({ jwksUrl, secret, issuer, audience, clockSkew }: SignedTokenConfig): VerifyToken {
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
    try {
      const { payload } = await (typeof key === 'function'
        ? jwtVerify(text, key, verified).catch((error: unknown) => verifyWithEach(text, error, verified))
        : jwtVerify(text, key, verified))
      return payload
    } catch (error) {
      throw explain(error)
    }
  }
}

/** A token need not name its key (`kid`). While an issuer replaces its key it publishes both, and each of them may be meant. */
async function verifyWithEach(text: string, error: unknown, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
  for await (const candidate of error) {
    try {
      return await jwtVerify(text, candidate, options)
    } catch (refusal) {
      if (!(refusal instanceof errors.JWSSignatureVerificationFailed)) throw refusal
    }
  }
  throw new errors.JWSSignatureVerificationFailed()
}

/** A dot leads into an object (`realm_access.roles`), unless a claim is called so. Undefined: there is none. */
export function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name]
  let value: unknown = payload
  for (const step of name.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as JWTPayload)[step]
        : undefined
  return value
}

function explain(error: unknown): DomainError {
  if (error instanceof errors.JWTExpired) return new TokenRefused('expired', 'it has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return new TokenRefused('claims', `its claim ${error.claim} is not what is asked for`)
  if (error instanceof errors.JOSEAlgNotAllowed) return new TokenRefused('signature', 'its algorithm is not taken')
  const isBad =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JOSENotSupported
  if (isBad) return new TokenRefused('signature', 'its signature is not one of those that are trusted')
  return new DomainError('UNAVAILABLE', 'the keys that tokens are checked with cannot be had: try again later', {
    cause: error,
  })
}
