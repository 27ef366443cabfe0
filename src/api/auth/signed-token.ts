/** Verifies tokens that an external issuer signed (JWT). Callers read the claims of the result. */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { DomainError } from '../../domain/errors.ts'
import { type Fetch, fetchBounded } from '../../platform/outbound/fetch.ts'

export interface SignedTokenConfig {
  /** URL of the issuer's keys. Null: `secret` is the key. */
  readonly jwksUrl: string | null
  readonly secret: string | null
  /** A list: any of them. */
  readonly issuer: string | readonly string[] | null
  readonly audience: string | null
  /** Seconds of tolerated clock difference. */
  readonly clockSkew: number
  /** The issuer has just sent the tokens itself: a time of issue in the future only shows that our clock is behind. */
  readonly isFresh?: boolean
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

/** Milliseconds that the key set is cached. A withdrawn key is accepted for this time at most. */
const keysAge = 60_000
/** Milliseconds between two fetches of the key set. Tokens with unknown key IDs would cause one each. */
export const keysPause = 1_000

export function looksLikeJwt(text: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)
}

export function createTokenVerifier(
  { jwksUrl, secret, issuer, audience, clockSkew, isFresh = false }: SignedTokenConfig,
  send: Fetch = fetchBounded,
): VerifyToken {
  const key: Uint8Array | JWTVerifyGetKey = jwksUrl
    ? createRemoteJWKSet(new URL(jwksUrl), {
        cacheMaxAge: keysAge,
        cooldownDuration: keysPause,
        timeoutDuration: 5_000,
        [customFetch]: send,
      })
    : new TextEncoder().encode(secret ?? '')
  const options = {
    algorithms: jwksUrl ? published : shared,
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
    ...(issuer === null ? {} : { issuer: [issuer].flat() }),
    ...(audience === null ? {} : { audience }),
  }

  return async (text, now) => {
    const verified = { ...options, currentDate: new Date(now) }
    try {
      const { payload } = await (typeof key === 'function'
        ? jwtVerify(text, key, verified).catch((error: unknown) => verifyWithEach(text, error, verified))
        : jwtVerify(text, key, verified))
      // jose looks at this claim only where an age is limited.
      if (!isFresh && payload.iat !== undefined && payload.iat > now / 1_000 + clockSkew)
        throw new TokenRefused('claims', 'it was issued in the future')
      return payload
    } catch (error) {
      throw explain(error)
    }
  }
}

/** A token may omit its key id (`kid`). An issuer publishes both keys while it replaces one, so each candidate is tried. */
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

/** A dot selects a member of an object (`realm_access.roles`), unless a claim has exactly this name. Undefined: the claim is absent. */
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
  if (error instanceof TokenRefused) return error
  if (error instanceof errors.JWTExpired) return new TokenRefused('expired', 'it has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return new TokenRefused('claims', `its claim ${error.claim} does not have the required value`)
  if (error instanceof errors.JOSEAlgNotAllowed) return new TokenRefused('signature', 'its algorithm is not accepted')
  const isBad =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JOSENotSupported
  if (isBad) return new TokenRefused('signature', 'no trusted key verifies its signature')
  return new DomainError('UNAVAILABLE', 'the keys of the token issuer cannot be fetched: retry later', {
    cause: error,
  })
}
