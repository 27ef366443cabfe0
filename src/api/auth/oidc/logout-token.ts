/** Back-channel logout (OpenID Connect Back-Channel Logout 1.0): the issuer ends sessions without the browser. */
import { DomainError } from '../../../domain/errors.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Database } from '../../../store/database.ts'
import { claimSignatures, releaseSignature } from '../../../store/signature-claims.ts'
import { hashOf } from '../api/keys.ts'
import type { Issuer } from './issuer.ts'
import { identifierOf } from './person.ts'
import type { OidcSessions } from './sessions.ts'

interface LogoutDeps {
  readonly issuer: Pick<Issuer, 'verify'>
  readonly sessions: Pick<OidcSessions, 'logOut'>
  readonly database: Pick<Database, 'session'>
  readonly clock: () => Millis
}

const event = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds. An older token is refused, so that a token is remembered for a short time only. */
const longestAge = 300

/** Ends the sessions that the token names. Throws UNAUTHENTICATED for a token that is forged, old or used, and UNAVAILABLE. */
export async function acceptLogoutToken(deps: LogoutDeps, token: string, address: string): Promise<void> {
  const { issuer, sessions, database, clock } = deps
  const claims = await issuer.verify(token)
  const { iat, jti, sub, sid, events, nonce } = claims
  const now = Math.floor(clock() / 1000)
  // An ID token of the same issuer is signed with the same keys: only the event and the absent nonce tell them apart.
  if (!isObject(events) || !isObject(events[event]) || nonce !== undefined) throw refused('it is no logout token')
  if (typeof iat !== 'number' || iat < now - longestAge || iat > now + longestAge)
    throw refused('it is too old or too new')
  if (typeof jti !== 'string' || jti === '') throw refused('it has no jti')
  const [subject, session] = [identifierOf(sub), identifierOf(sid)]
  if ((sub !== undefined && subject === null) || (sid !== undefined && session === null))
    throw refused('its sub or sid is not a text')
  if (subject === null && session === null) throw refused('it names neither a person nor a session')
  const claim = { id: `oidc-logout:${hashOf(jti)}`, until: (now + 2 * longestAge) * 1000 }
  if (!(await claimSignatures(database.session, [claim], 2 * longestAge)).has(claim.id))
    throw refused('it was used before')
  try {
    await sessions.logOut(subject, session, address)
  } catch (error) {
    // The issuer sends it again.
    await releaseSignature(database.session, claim.id).catch(() => undefined)
    throw error
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function refused(why: string): DomainError {
  return new DomainError('UNAUTHENTICATED', `the logout token is refused: ${why}`)
}
