/** Bearer tokens: ours, which registerDevices issued, and those that an OAuth2 server signed for a client. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hashDeviceToken } from '../../ingest/device-token.ts'
import type { Database } from '../../store/database.ts'
import { findTokens } from '../../store/device-credentials.ts'
import type { Identify } from './device-auth.ts'
import { createLookup } from './lookup.ts'
import { CredentialRefused, revoked } from './refusal.ts'

export interface TokenDeps {
  readonly database: Pick<Database, 'session'>
}

export function createTokenMethod({ database }: TokenDeps): Identify {
  const find = createLookup((hashes) => findTokens(database.session, hashes))

  async function ofIssued(text: string): Promise<string> {
    const hash = hashDeviceToken(text)
    const token = await find(hash)
    // The index has found it by its hash; that the two are equal is decided in a time that does not depend on them.
    if (!token || !timingSafeEqual(Buffer.from(token.id), Buffer.from(hash)))
      throw new CredentialRefused(
        'UNAUTHENTICATED',
        'unknown',
        'the token is not one that was issued here, or it was withdrawn',
      )
    if (token.revokedAt !== null) throw revoked(token.device)
    if (token.isExpired)
      throw new CredentialRefused('UNAUTHENTICATED', 'expired', 'the token has expired: use the one it was rotated to')
    return token.device
  }

  return async ({ request }) => {
    const text = bearerOf(request)
    return text === null ? null : ofIssued(text)
  }
}

/** Null: none. What claims to be one and is not is refused, not taken for nothing. */
function bearerOf({ headers }: IncomingMessage): string | null {
  const { authorization } = headers
  if (authorization === undefined) return null
  const [, scheme = '', text = ''] = /^([^ ]+) *(.*)$/.exec(authorization) ?? []
  if (scheme.toLowerCase() !== 'bearer') return null
  if (/^[\w~+/.-]+=*$/.test(text)) return text
  throw new CredentialRefused('UNAUTHENTICATED', 'malformed', 'Authorization must be "Bearer", a space and the token')
}
