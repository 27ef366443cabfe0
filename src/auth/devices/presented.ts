/** What every way of proving a device looks at, and what it finds. */
import type { IncomingMessage } from 'node:http'
import type { Proof } from '../../store/signature-claims.ts'

/** What a way of saying who reports may look at. */
export interface Presented {
  readonly request: IncomingMessage
  /** Reads it. Only a way that has found a good credential in the headers asks for it. */
  readonly body: () => Promise<Uint8Array>
  /** Whether a token may also come as the password of somebody, as Git's clients send it. */
  readonly takesPassword?: boolean
}

export interface Found {
  readonly device: string
  readonly proof?: Proof
}

/** Whose credential; null when the request carries none of this kind. Throws CredentialRefused, or UNAVAILABLE. */
export type Identify = (presented: Presented) => Promise<Found | null>
