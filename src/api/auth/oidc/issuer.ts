/**
 * The issuer: its discovery, its token endpoint, and what it states about a person.
 *
 * Discovery happens at the first sign-in and is repeated every hour, so a server starts without its issuer. While the issuer is
 * unreachable, its last metadata serve; without any, sign-in is UNAVAILABLE. ID tokens and logout tokens are verified by
 * ../signed-token.ts, which fetches the keys again when a token names an unknown one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JWTPayload } from 'jose'
import * as client from 'openid-client'
import { DomainError } from '../../../domain/errors.ts'
import type { Log } from '../../../platform/log/log.ts'
import { type Fetch, fetchBounded } from '../../../platform/outbound/fetch.ts'
import { claimOf, createTokenVerifier, keysPause, TokenRefused, type VerifyToken } from '../signed-token.ts'
import { type DeviceCodes, requireAddresses, toDeviceCodes } from './answers.ts'
import type { OidcConfig } from './config.ts'
import { explained, refused, unavailable } from './issuer-errors.ts'
import { identifierOf } from './person.ts'

/** What the token endpoint answers, verified. */
export interface Grant {
  readonly claims: JWTPayload
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
  /** Withdraws a refresh token at the issuer (RFC 7009), if the issuer offers that. */
  revoke(refreshToken: string): Promise<void>
  /** Null: the issuer has no such page. */
  endSessionUrl(returnTo: string): Promise<string | null>
  /** Verifies signature, issuer, audience and expiry of a token that the issuer sent. */
  verify(token: string): Promise<JWTPayload>
  /** The same of an access token for `resource` (RFC 9068), which a client of the person got. */
  verifyAccess(token: string): Promise<JWTPayload>
}

interface Discovered {
  readonly configuration: client.Configuration
  readonly metadata: client.ServerMetadata
  readonly verify: VerifyToken
  readonly verifyAccess: VerifyToken | null
  readonly at: number
}

/** Milliseconds. */
const [metadataAge, retryInterval] = [3_600_000, 1_000]
/** Seconds. */
const timeout = 5
const clockSkew = 30
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

export function createIssuer(
  config: OidcConfig,
  clock: () => number,
  log: Pick<Log, 'info' | 'warn'>,
  send: Fetch = fetchBounded,
): Issuer {
  let known: Discovered | null = null
  let asking: Promise<Discovered> | null = null
  let failed: { readonly at: number; readonly error: DomainError } | null = null
  const { clientId, clientSecret, scopes } = config

  /** The metadata say how a client authenticates, so this is decided for each request. */
  const authenticate: client.ClientAuth = (server, ...request) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const method =
      clientSecret === null
        ? client.None()
        : methods.includes('client_secret_basic')
          ? client.ClientSecretBasic(clientSecret)
          : client.ClientSecretPost(clientSecret)
    return method(server, ...request)
  }

  async function discover(): Promise<Discovered> {
    const isPlain = config.issuer.startsWith('http:')
    const execute = isPlain ? [client.allowInsecureRequests] : []
    const options = { timeout, execute, [client.customFetch]: send }
    const url = new URL(config.issuer)
    const configuration = await client.discovery(url, clientId, undefined, authenticate, options)
    const metadata = configuration.serverMetadata()
    requireAddresses(metadata)
    const { jwks_uri: jwksUrl } = metadata
    if (jwksUrl === undefined) throw new client.ClientError('the issuer publishes no keys')
    const issuer = issuersOf(metadata.issuer, config.tenants)
    const verifierOf = (audience: string, isFresh: boolean) =>
      createTokenVerifier({ jwksUrl, secret: null, issuer, audience, clockSkew, isFresh }, send)
    return {
      ...{ configuration, metadata, at: clock() },
      verify: verifierOf(clientId, true),
      verifyAccess: config.resource === null ? null : verifierOf(config.resource, false),
    }
  }

  async function find(): Promise<Discovered> {
    const now = clock()
    if (known && now - known.at < metadataAge && now >= known.at) return known
    if (failed && now - failed.at < retryInterval && now >= failed.at) {
      if (known) return known
      throw failed.error
    }
    asking ??= discover().finally(() => {
      asking = null
    })
    try {
      known = await asking
      if (failed) log.info('the issuer of OIDC can be used again')
      failed = null
      return known
    } catch (error) {
      if (!failed) log.warn({ error }, 'the issuer of OIDC cannot be used: trying again')
      failed = { at: clock(), error: unavailable(error) }
      if (known) return known
      throw failed.error
    }
  }

  /**
   * The issuer may have begun to sign with a key that is younger than the last fetch of its keys. The grant is used up by then, so a refusal would
   * end the session.
   */
  async function verifyNew(verify: VerifyToken, idToken: string): Promise<JWTPayload> {
    try {
      return await verify(idToken, clock())
    } catch (error) {
      if (!(error instanceof TokenRefused) || error.reason !== 'signature') throw error
      await sleep(keysPause)
      return verify(idToken, clock())
    }
  }

  /** The claim of groups may be in the ID token or, as with thin ID tokens, at the UserInfo endpoint only. */
  async function grantOf(
    { configuration, metadata, verify }: Discovered,
    tokens: client.TokenEndpointResponse,
    expected: string | null,
  ): Promise<Grant> {
    const { id_token: idToken = null, access_token: accessToken, expires_in: expiresIn } = tokens
    const idClaims = idToken === null ? null : await verifyNew(verify, idToken)
    const subject = idClaims === null ? expected : identifierOf(idClaims.sub)
    if (subject === null || (expected !== null && subject !== expected))
      throw refused('the issuer does not name the person')
    const isThin = idClaims === null || claimOf(idClaims, config.groupsClaim) === undefined
    const userInfo =
      isThin && metadata.userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(configuration, accessToken, subject)
        : null
    if (idClaims === null && userInfo === null) throw refused('the issuer states nothing about the person')
    const claims = { ...userInfo, ...idClaims, sub: subject }
    const seconds = expiresIn ?? Math.floor((idClaims?.exp ?? 0) - clock() / 1000)
    return { claims, refreshToken: tokens.refresh_token ?? null, expiresIn: Math.max(1, seconds) }
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
      return explained(async () =>
        toDeviceCodes(await client.initiateDeviceAuthorization(configuration, { scope: scopes })),
      )
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
    async revoke(refreshToken) {
      const { configuration, metadata } = await find()
      if (metadata.revocation_endpoint === undefined) return
      await client.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' })
    },
    async endSessionUrl(returnTo) {
      const { configuration, metadata } = await find()
      if (metadata.end_session_endpoint === undefined) return null
      // With `client_id`. The ID token as a hint would be in the browser's history.
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo }).href
    },
    verify: async (token) => (await find()).verify(token, clock()),
    async verifyAccess(token) {
      const { verifyAccess } = await find()
      if (!verifyAccess) throw new TokenRefused('claims', 'tokens of persons are not accepted')
      return verifyAccess(token, clock())
    },
  }
}

/**
 * The values of `iss` that are accepted. Entra ID publishes one issuer for all tenants, `…/{tenantid}/v2.0`, and its tokens name their own.
 * Anyone can have a tenant there, so only those that the configuration names are accepted.
 */
function issuersOf(issuer: string, tenants: readonly string[] | null): readonly string[] {
  const isTemplate = issuer.includes('{tenantid}')
  if (isTemplate !== (tenants !== null))
    throw new client.ClientError(
      isTemplate ? 'the issuer has many tenants: set OIDC_TENANTS' : 'the issuer has one tenant: remove OIDC_TENANTS',
    )
  return tenants?.map((tenant) => issuer.replace('{tenantid}', tenant)) ?? [issuer]
}
