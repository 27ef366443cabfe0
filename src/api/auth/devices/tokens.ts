/** Bearer tokens: those that registerDevices or onboarding issued, and those that an OAuth2 server signed for a client. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TargetKind } from '../../../domain/target.ts'
import { hasUnseen, isStorable } from '../../../domain/text.ts'
import { hashDeviceToken, repositoryTokenPrefix } from '../../../ingest/device-token.ts'
import type { Database } from '../../../store/database.ts'
import { findTokens } from '../../../store/read/device-credentials.ts'
import { looksLikeApiKey } from '../api/keys.ts'
import { passwordIn } from '../password.ts'
import { claimOf, createTokenVerifier, looksLikeJwt, type SignedTokenConfig, TokenRefused } from '../signed-token.ts'
import { createLookup } from './lookup.ts'
import type { Identify } from './presented.ts'
import type { Admit } from './provisioning.ts'
import { CredentialRefused, refuseEnded } from './refusal.ts'

export interface DeviceJwtConfig extends SignedTokenConfig {
  /** The claim that names the device. A dot selects a member of an object. */
  readonly claim: string
}

interface TokenDeps {
  readonly database: Pick<Database, 'session'>
  readonly admit: Admit
  /** Null: tokens of external issuers are not accepted. */
  readonly jwt: DeviceJwtConfig | null
  readonly clock: () => number
  /** Only the repository tokens of onboarding are accepted. Such devices sign all other requests. */
  readonly repositoryOnly?: boolean
  /** Whose tokens they are. */
  readonly kind: Extract<TargetKind, 'DEVICE' | 'SITE'>
}

const longestName = 256

export function createTokenMethod({ database, admit, jwt, clock, repositoryOnly = false, kind }: TokenDeps): Identify {
  const ofSigned = jwt && createSignedTokens(jwt, admit, clock)
  const find = createLookup((hashes) => findTokens(database.session, hashes, kind))

  async function ofIssued(text: string, isForRepository: boolean): Promise<string> {
    const hash = hashDeviceToken(text)
    const token = await find(hash)
    // The index found the row by its hash. The constant-time comparison makes the duration independent of the hash.
    if (!token || !timingSafeEqual(Buffer.from(token.id), Buffer.from(hash)))
      throw new CredentialRefused(
        'UNAUTHENTICATED',
        'unknown',
        looksLikeApiKey(text)
          ? "this is a key of the API, not a device's token: registerDevices and rotateDeviceToken return one"
          : 'the token is unknown: this server did not issue it, or it was withdrawn',
      )
    if (token.repositoryOnly && !isForRepository)
      throw new CredentialRefused(
        'UNAUTHENTICATED',
        'unknown',
        'the token opens only the Git repository of its device: sign this request',
      )
    refuseEnded(token)
    if (token.isExpired)
      throw new CredentialRefused('UNAUTHENTICATED', 'expired', 'the token has expired: use the token that replaced it')
    return token.device
  }

  return async ({ request, takesPassword = false }) => {
    if (repositoryOnly && !takesPassword) return null
    const text = bearerOf(request) ?? (takesPassword ? passwordOf(request) : null)
    if (text === null || (repositoryOnly && !text.startsWith(repositoryTokenPrefix))) return null
    return { device: await (ofSigned && looksLikeJwt(text) ? ofSigned(text) : ofIssued(text, takesPassword)) }
  }
}

function createSignedTokens(
  config: DeviceJwtConfig,
  admit: Admit,
  clock: () => number,
): (text: string) => Promise<string> {
  const verify = createTokenVerifier(config)
  return async (text) => {
    const payload = await verify(text, clock()).catch((error: unknown) => {
      if (!(error instanceof TokenRefused)) throw error
      throw new CredentialRefused('UNAUTHENTICATED', error.reason, error.message)
    })
    const name = claimOf(payload, config.claim)
    if (typeof name === 'string' && name !== '' && name.length <= longestName && isStorable(name) && !hasUnseen(name))
      return admit(name)
    throw new CredentialRefused(
      'UNAUTHENTICATED',
      'claims',
      `the token is refused: its claim ${config.claim} does not name a device`,
    )
  }
}

const token = /^[\w~+/.-]+=*$/

/** Null: the request has no bearer token. A malformed one is refused, not ignored. */
function bearerOf({ headers }: IncomingMessage): string | null {
  const { authorization } = headers
  if (authorization === undefined) return null
  const [, scheme = '', text = ''] = /^([^ ]+) *(.*)$/.exec(authorization) ?? []
  if (scheme.toLowerCase() !== 'bearer') return null
  if (token.test(text)) return text
  throw new CredentialRefused('UNAUTHENTICATED', 'malformed', 'Authorization must be "Bearer", a space and the token')
}

/** The user name is ignored, because the token identifies the device. */
function passwordOf({ headers }: IncomingMessage): string | null {
  const password = passwordIn(headers.authorization)
  if (password === null || token.test(password)) return password
  throw new CredentialRefused('UNAUTHENTICATED', 'malformed', "the password must be the device's token")
}
