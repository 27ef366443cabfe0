/**
 * Sign-in of a terminal (OAuth 2.0 Device Authorization Grant, RFC 8628). The server asks the issuer with its own credentials, so the
 * terminal needs nothing but the address of the server. The terminal keeps the device code, encrypted; the server keeps nothing.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Millis } from '../../../domain/values.ts'
import type { DeviceCodes } from './answers.ts'
import type { Issuer } from './issuer.ts'
import type { Seal } from './seal.ts'
import type { OidcSessions, OpenedSession } from './sessions.ts'

export interface TerminalSignIn {
  begin(): Promise<Omit<DeviceCodes, 'deviceCode'> & { readonly handle: string }>
  /** The terminal polls until the person has answered. Throws UNAUTHENTICATED, FORBIDDEN or UNAVAILABLE. */
  poll(handle: string, address: string): Promise<OpenedSession | 'pending' | 'slow down'>
}

interface TerminalSignInDeps {
  readonly issuer: Pick<Issuer, 'beginDevice' | 'redeemDevice'>
  readonly sessions: Pick<OidcSessions, 'open'>
  readonly seal: Seal
  readonly clock: () => Millis
}

interface TerminalRecord {
  readonly deviceCode: string
  readonly until: Millis
}

const purpose = 'device'

export function createTerminalSignIn({ issuer, sessions, seal, clock }: TerminalSignInDeps): TerminalSignIn {
  return {
    async begin() {
      const { deviceCode, ...shown } = await issuer.beginDevice()
      const record: TerminalRecord = { deviceCode, until: clock() + shown.expiresIn * 1000 }
      return { ...shown, handle: seal.encrypt(purpose, record) }
    },
    async poll(handle, address) {
      const record = seal.decrypt<TerminalRecord>(purpose, handle)
      if (!record || record.until <= clock())
        throw new DomainError('UNAUTHENTICATED', 'the sign-in is refused: it began too long ago, or at another server')
      const grant = await issuer.redeemDevice(record.deviceCode)
      return typeof grant === 'string' ? grant : sessions.open(grant, 'terminal', address)
    },
  }
}
