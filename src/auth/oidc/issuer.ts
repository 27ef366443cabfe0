/**
 * The issuer: its discovery, its token endpoint, and what it states about a person.
 *
 * Discovery happens at the first sign-in and is repeated every hour, so a server starts without its issuer. While the issuer is
 * unreachable, its last metadata serve; without any, sign-in is UNAVAILABLE. ID tokens and logout tokens are verified by
 * ../signed-token.ts, which fetches the keys again when a token names an unknown one.
 */
import type { JWTPayload } from 'jose'
import * as client from 'openid-client'
import { DomainError } from '../../domain/errors.ts'
import { claimOf, createTokenVerifier, type VerifyToken } from '../signed-token.ts'
import type { OidcConfig } from './config.ts'

/** What the token endpoint answers, verified. */
export interface Grant {
  readonly claims: JWTPayload
  readonly idToken: string | null
  readonly refreshToken: string | null
  /** Seconds. */
  readonly expiresIn: number
}

export interface LoginSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface Issuer {
  /** The address of the issuer's sign-in page. Throws UNAVAILABLE. */
  begin(redirectUri: string): Promise<LoginSecrets & { readonly url: string }>
  /** Redeems the code of a callback. `url`: the whole address of the callback. Throws UNAUTHENTICATED or UNAVAILABLE. */
  redeem(url: URL, secrets: LoginSecrets): Promise<Grant>
  /** Throws UNAUTHENTICATED if the issuer has withdrawn the grant, UNAVAILABLE otherwise. */
  refresh(refreshToken: string, subject: string): Promise<Grant>
  beginDevice(): Promise<DeviceCodes>
  /** While the person has not answered, whether the terminal may ask again as soon as before. */
  redeemDevice(deviceCode: string): Promise<Grant | 'pending' | 'slow down'>
  /** Null: the issuer has no such page. */
  endSessionUrl(idToken: string | null, returnTo: string): Promise<string | null>
  /** Verifies signature, issuer, audience and expiry of a token that the issuer sent. */
  verify(token: string): Promise<JWTPayload>
}

export interface DeviceCodes {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | null
  /** Seconds. */
  readonly expiresIn: number
  readonly interval: number
}

interface Discovered {
  readonly configuration: client.Configuration
  readonly metadata: client.ServerMetadata
  readonly verify: VerifyToken
  readonly at: number
}

/** Milliseconds. */
const [metadataAge, retryInterval] = [3_600_000, 1_000]
/** Seconds. */
const timeout = 5
const clockSkew = 30
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

export function createIssuer(config: OidcConfig, clock: () => number): Issuer {
  let known: Discovered | null = null
  let asking: Promise<Discovered> | null = null
  let failed: { readonly at: number; readonly error: DomainError } | null = null
  const { clientId, clientSecret, scopes } = config

  async function discover(): Promise<Discovered> {
    const isPlain = config.issuer.startsWith('http:')
    const execute = isPlain ? [client.allowInsecureRequests] : []
    const options = { timeout, execute }
    const found = await client.discovery(new URL(config.issuer), clientId, undefined, client.None(), options)
    const metadata = found.serverMetadata()
    const { jwks_uri: jwksUrl, token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = metadata
    if (jwksUrl === undefined) throw new client.ClientError('the issuer publishes no keys')
    const authentication =
      clientSecret === null
        ? client.None()
        : methods.includes('client_secret_basic')
          ? client.ClientSecretBasic(clientSecret)
          : client.ClientSecretPost(clientSecret)
    const configuration = new client.Configuration(metadata, clientId, undefined, authentication)
    configuration.timeout = timeout
    for (const extend of execute) extend(configuration)
    const verify = createTokenVerifier({
      jwksUrl,
      secret: null,
      issuer: metadata.issuer,
      audience: clientId,
      clockSkew,
    })
    return { configuration, metadata, verify, at: clock() }
  }

  async function find(): Promise<Discovered> {
    const now = clock()
    if (known && now - known.at < metadataAge) return known
    if (failed && now - failed.at < retryInterval && now >= failed.at) {
      if (known) return known
      throw failed.error
    }
    asking ??= discover().finally(() => {
      asking = null
    })
    try {
      known = await asking
      failed = null
      return known
    } catch (error) {
      failed = { at: clock(), error: unavailable(error) }
      if (known) return known
      throw failed.error
    }
  }

  /** The claim of groups may be in the ID token or, as with thin ID tokens, at the UserInfo endpoint only. */
  async function grantOf(
    { configuration, metadata, verify }: Discovered,
    tokens: client.TokenEndpointResponse,
    expected: string | null,
  ): Promise<Grant> {
    const { id_token: idToken = null, access_token: accessToken, expires_in: expiresIn } = tokens
    const idClaims = idToken === null ? null : await verify(idToken, clock())
    const subject = idClaims?.sub ?? expected
    if (subject === null || subject === undefined || (expected !== null && subject !== expected))
      throw refused('the issuer does not name the person')
    const isThin = idClaims === null || claimOf(idClaims, config.groupsClaim) === undefined
    const userInfo =
      isThin && metadata.userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(configuration, accessToken, subject)
        : null
    if (idClaims === null && userInfo === null) throw refused('the issuer states nothing about the person')
    const claims = { ...userInfo, ...idClaims, sub: subject }
    const seconds = expiresIn ?? Math.floor((idClaims?.exp ?? 0) - clock() / 1000)
    return { claims, idToken, refreshToken: tokens.refresh_token ?? null, expiresIn: Math.max(1, seconds) }
  }

  return {
    async begin(redirectUri) {
      const { configuration } = await find()
      const secrets = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: scopes,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
      })
      return { ...secrets, url: url.href }
    },
    async redeem(url, { state, nonce, verifier }) {
      const found = await find()
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      return explained(async () =>
        grantOf(found, await client.authorizationCodeGrant(found.configuration, url, checks), null),
      )
    },
    async refresh(refreshToken, subject) {
      const found = await find()
      return explained(async () =>
        grantOf(found, await client.refreshTokenGrant(found.configuration, refreshToken), subject),
      )
    },
    async beginDevice() {
      const { configuration, metadata } = await find()
      if (metadata.device_authorization_endpoint === undefined)
        throw new DomainError('NOT_FOUND', 'the issuer has no device authorization: use an API key')
      const codes = await explained(() => client.initiateDeviceAuthorization(configuration, { scope: scopes }))
      return {
        deviceCode: codes.device_code,
        userCode: codes.user_code,
        verificationUri: codes.verification_uri,
        verificationUriComplete: codes.verification_uri_complete ?? null,
        expiresIn: codes.expires_in,
        interval: codes.interval ?? 5,
      }
    },
    async redeemDevice(deviceCode) {
      const found = await find()
      return explained(async () => {
        const tokens = await client
          .genericGrantRequest(found.configuration, deviceGrant, { device_code: deviceCode })
          .catch((error: unknown) => {
            const code = error instanceof client.ResponseBodyError ? error.error : null
            if (code === 'authorization_pending') return 'pending' as const
            if (code === 'slow_down') return 'slow down' as const
            throw error
          })
        return typeof tokens === 'string' ? tokens : grantOf(found, tokens, null)
      })
    },
    async endSessionUrl(idToken, returnTo) {
      const { configuration, metadata } = await find()
      if (metadata.end_session_endpoint === undefined) return null
      const hint = idToken === null ? {} : { id_token_hint: idToken }
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo, ...hint }).href
    },
    verify: async (token) => (await find()).verify(token, clock()),
  }
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explain(error)
  }
}

/** Repeats the error codes of the issuer, but not its texts: any client can call the callback with a text of its own. */
function explain(error: unknown): DomainError {
  if (error instanceof DomainError) return error
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    const code = /^[a-z_]{1,60}$/.test(error.error) ? error.error : 'an unknown error'
    const isOurs =
      error instanceof client.ResponseBodyError && (error.status >= 500 || error.error === 'invalid_client')
    return isOurs || ['server_error', 'temporarily_unavailable'].includes(code)
      ? new DomainError('UNAVAILABLE', `the issuer fails with ${code}: retry later`, { cause: error })
      : refused(`the issuer answers ${code}`)
  }
  const code = error instanceof client.ClientError ? error.code : undefined
  if (code !== undefined && /COMPARISON|TIMESTAMP|INVALID_RESPONSE|INVALID_REQUEST/.test(code))
    return refused('the answer of the issuer does not belong to this sign-in')
  return unavailable(error)
}

function refused(why: string): DomainError {
  return new DomainError('UNAUTHENTICATED', `the sign-in is refused: ${why}`)
}

function unavailable(cause: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the issuer cannot be reached: sign-in works again when it can', { cause })
}
