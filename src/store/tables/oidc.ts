/** What OIDC sign-in keeps of a session, beside `api_sessions`. */
import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { apiSessions } from './access.ts'
import { instant } from './columns.ts'

export const oidcSessions = pgTable(
  'oidc_sessions',
  {
    hash: text('hash')
      .primaryKey()
      .references(() => apiSessions.hash, { onDelete: 'cascade' }),
    subject: text('subject').notNull(),
    /** The issuer's id of its own session. Null: it states none. */
    sid: text('sid'),
    /** The refresh token and the ID token, encrypted (auth/oidc/seal.ts). */
    sealed: text('sealed').notNull(),
    /** Null: there is no refresh token. A server that refreshes moves it ahead first, so no other does. */
    refreshAt: instant('refresh_at'),
    /** The latest expiry of the session, however often it is refreshed. */
    endsAt: instant('ends_at').notNull(),
  },
  (t) => [
    index('oidc_sessions_refresh').on(t.refreshAt),
    index('oidc_sessions_subject').on(t.subject),
    index('oidc_sessions_sid').on(t.sid),
  ],
)
