/** Opens and renews the sessions of OIDC sign-in. */
import type { NewSession } from '../../store/write/save/save-api-access.ts'
import {
  insertOidcSession,
  type NewOidcSession,
  type RenewedSession,
  renewOidcSession,
} from '../../store/write/save/save-oidc-sessions.ts'
import type { Command } from '../command.ts'
import { openSession } from './api-access.ts'

export function openOidcSession(session: NewSession, oidc: Omit<NewOidcSession, 'hash'>): Command<number> {
  const opened = openSession(session)
  return {
    ...opened,
    statements: (now) => [...(opened.statements?.(now) ?? []), insertOidcSession({ ...oidc, hash: session.hash })],
  }
}

export function renewSession(renewed: RenewedSession): Command<null> {
  return { needs: {}, decide: () => null, statements: () => renewOidcSession(renewed) }
}
