/** What the errors of the issuer mean to the person who signs in. */
import * as client from 'openid-client'
import { DomainError } from '../../../domain/errors.ts'

/** Throws UNAUTHENTICATED or UNAVAILABLE. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explain(error)
  }
}

/** Repeats the error codes of the issuer, but not its texts: any client can call the callback with a text of its own. */
function explain(error: unknown): DomainError {
  if (error instanceof DomainError) return error
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    const code = /^[a-z_]{1,60}$/.test(error.error) ? error.error : 'an unknown error'
    const isOurs =
      error instanceof client.ResponseBodyError && (error.status >= 500 || error.error === 'invalid_client')
    return isOurs || ['server_error', 'temporarily_unavailable'].includes(code)
      ? new DomainError('UNAVAILABLE', `the issuer fails with ${code}: retry later`, { cause: error })
      : refused(`the issuer answers ${code}`)
  }
  const code = error instanceof client.ClientError ? error.code : undefined
  if (code !== undefined && /COMPARISON|TIMESTAMP|INVALID_RESPONSE|INVALID_REQUEST/.test(code))
    return refused('the answer of the issuer does not belong to this sign-in')
  return unavailable(error)
}

export function refused(why: string): DomainError {
  return new DomainError('UNAUTHENTICATED', `the sign-in is refused: ${why}`)
}

export function unavailable(cause: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the issuer cannot be reached: sign-in works again when it can', { cause })
}
