/** A credential that is not taken: what the device is told, and what it is counted as. */
import { DomainError, type ErrorCode } from '../../domain/errors.ts'

export type DeviceAuthMethod = 'open' | 'token' | 'signature' | 'mtls'

/** From a fixed set: they are a metric's label. */
export type RefusalReason =
  | 'missing'
  | 'malformed'
  | 'unknown'
  | 'untrusted'
  | 'expired'
  | 'revoked'
  | 'digest'
  | 'signature'
  | 'replayed'
  | 'claims'
  | 'disagreeing'
  | 'not-its-own'

export class CredentialRefused extends DomainError {
  readonly reason: RefusalReason
  /** Whose it is, where that is certain. */
  readonly device: string | null

  constructor(
    code: Extract<ErrorCode, 'INVALID_REQUEST' | 'UNAUTHENTICATED' | 'FORBIDDEN'>,
    reason: RefusalReason,
    message: string,
    device: string | null = null,
  ) {
    super(code, message)
    this.reason = reason
    this.device = device
  }
}

export function revoked(device: string): CredentialRefused {
  return new CredentialRefused(
    'FORBIDDEN',
    'revoked',
    `device ${device} has been revoked: register it anew to let it report`,
    device,
  )
}
