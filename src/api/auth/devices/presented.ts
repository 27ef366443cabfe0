/** The input and the result of every method of device authentication. */
import type { IncomingMessage } from 'node:http'
import type { Proof } from '../../../store/signature-claims.ts'

/** The input of a method. */
export interface Presented {
  readonly request: IncomingMessage
  /** Reads the body. A method calls it only after it has found a valid credential in the headers. */
  readonly body: () => Promise<Uint8Array>
  /** Whether a token is also accepted as a password, as Git clients send it. */
  readonly takesPassword?: boolean
}

export interface Found {
  readonly device: string
  readonly proof?: Proof
}

/** The device of the credential. Null: the request has no credential of this kind. Throws CredentialRefused, or UNAVAILABLE. */
export type Identify = (presented: Presented) => Promise<Found | null>
