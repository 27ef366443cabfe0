/** A refused credential: the error for the device, and the reason that metrics count. */
import { DomainError, type ErrorCode } from '../../../domain/errors.ts'
import type { RefusalReason } from '../../../domain/refusal-reasons.ts'
import { retiredMessage } from '../../../domain/target.ts'
import type { Millis } from '../../../domain/values.ts'

export class CredentialRefused extends DomainError {
  readonly reason: RefusalReason
  /** The device of the credential, if it is certain. */
  readonly device: string | null

  constructor(
    code: Extract<ErrorCode, 'INVALID_REQUEST' | 'UNAUTHENTICATED' | 'FORBIDDEN' | 'DEVICE_RETIRED'>,
    reason: RefusalReason,
    message: string,
    device: string | null = null,
  ) {
    super(code, message)
    this.reason = reason
    this.device = device
  }
}

/** Refuses a valid credential of a retired or revoked device. */
export function refuseEnded(held: {
  readonly device: string
  readonly revokedAt: Millis | null
  readonly retiredAt: Millis | null
}): void {
  const { device } = held
  if (held.retiredAt !== null) throw new CredentialRefused('DEVICE_RETIRED', 'retired', retiredMessage(device), device)
  if (held.revokedAt !== null)
    throw new CredentialRefused(
      'FORBIDDEN',
      'revoked',
      `device ${device} has been revoked: register it anew to let it report`,
      device,
    )
}

export function replayed(): CredentialRefused {
  return new CredentialRefused(
    'UNAUTHENTICATED',
    'replayed',
    'the Signature is refused: this message was accepted before: sign each message again, and add a nonce if the content is the same',
  )
}
