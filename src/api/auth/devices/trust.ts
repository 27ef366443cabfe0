/** What device authentication needs of the trust in an identity service (auth/identity/). */
import type { X509Certificate } from 'node:crypto'

/** A certificate whose path leads to an authority of its trust domain. */
export interface Recognized {
  readonly spiffeId: string
  /** The client of this server that it names. */
  readonly client: string
}

export interface Trust {
  /** Verifies a certificate with those that were sent with it. Throws CredentialRefused; or UNAVAILABLE while no authority of its trust domain is known. */
  recognize(chain: readonly X509Certificate[]): Recognized
  /** Whether the list of admitted clients has it. Null: there is no list. */
  isListed(recognized: Recognized): boolean | null
  /** Whether clients of several trust domains may have the same name. */
  readonly hasManyDomains: boolean
  /** All authorities in PEM, which a TLS server names to clients. Empty: none is known, or they are too large to be named. */
  authorities(): readonly string[]
  /** Calls back when they have changed. */
  follow(changed: () => void): void
}
