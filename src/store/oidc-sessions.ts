/** Reads the sessions of OIDC sign-in, and claims those that are due for a refresh: single statements outside the writer's transactions. */
import type { Millis } from '../domain/values.ts'
import type { Session } from './database.ts'
import { iso } from './sql/record-set.ts'

export interface OidcSessionRow {
  readonly hash: string
  /** The issuer of the sign-in. */
  readonly issuer: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly subject: string
  readonly sid: string | null
  readonly sealed: string
  readonly expiresAt: Millis
  readonly endsAt: Millis
}

const columns = `o.hash, s.credential_id as issuer, s.name, s.roles, s.scopes, o.subject, o.sid, o.sealed,
  s.expires_at as "expiresAt", o.ends_at as "endsAt"`
const joined = 'oidc_sessions o join api_sessions s on s.hash = o.hash'

/**
 * Takes sessions that are due. Until `heldUntil` no other server takes them: an issuer may revoke a refresh token that is used twice.
 * Those due after `latest` are taken too: the clock of the database has gone back, and a person would keep withdrawn rights until it is there again.
 */
export function takeDueSessions(
  session: Session,
  now: Millis,
  { heldUntil, latest, most }: { readonly heldUntil: Millis; readonly latest: Millis; readonly most: number },
): Promise<OidcSessionRow[]> {
  return session.run<OidcSessionRow>(
    `with due as (
       select hash from oidc_sessions where refresh_at <= $1::timestamptz or refresh_at > $4::timestamptz
       order by refresh_at limit $3::int for update skip locked
     ), held as (
       update oidc_sessions o set refresh_at = $2::timestamptz from due where o.hash = due.hash returning o.*
     )
     select ${columns} from held o join api_sessions s on s.hash = o.hash where s.expires_at > $1::timestamptz`,
    [iso(now), iso(heldUntil), most, iso(latest)],
  )
}

export async function findOidcSession(session: Session, hash: string): Promise<OidcSessionRow | null> {
  const [row] = await session.run<OidcSessionRow>(`select ${columns} from ${joined} where o.hash = $1`, [hash])
  return row ?? null
}

/** The sessions that a logout token names: of one session of the issuer, or all of a person. */
export function findLoggedOut(session: Session, subject: string | null, sid: string | null): Promise<OidcSessionRow[]> {
  return session.run<OidcSessionRow>(
    `select ${columns} from ${joined}
      where ($2::text is null or o.sid = $2::text) and ($1::text is null or o.subject = $1::text)`,
    [subject, sid],
  )
}
