/** Certificates that a system shows: a good one, and those that no client of it may accept. */
import type { SecureContextOptions } from 'node:tls'
import { type Certificate, createCertificates } from '../../auth/devices/certificates.ts'

export interface ShownCertificates {
  /** PEM of the authority that the server trusts. */
  readonly ca: { readonly text: string; readonly file: string }
  /** By name. `good` is the only one that may be accepted. */
  readonly contexts: Readonly<Record<string, SecureContextOptions>>
  remove(): Promise<void>
}

/** Each is wrong in one way only. */
export const badCertificates = [
  'untrusted certificate',
  'self-signed certificate',
  'expired certificate',
  'certificate of another host',
  'certificate of a client',
  'certificate with a short key',
] as const

export async function createShownCertificates(): Promise<ShownCertificates> {
  const certificates = await createCertificates()
  const [trusted, unknown] = [await certificates.authority('trusted'), await certificates.authority('unknown')]
  const names = 'IP:127.0.0.1'
  const shown = {
    good: await trusted.issue('plant', { names }),
    'untrusted certificate': await unknown.issue('plant', { names }),
    'self-signed certificate': await certificates.authority('plant', { names }),
    'expired certificate': await trusted.issue('plant', { names, days: -1 }),
    'certificate of another host': await trusted.issue('plant', { names: 'IP:127.0.0.2,DNS:localhost' }),
    'certificate of a client': await trusted.issue('plant', { names, purpose: 'clientAuth' }),
    'certificate with a short key': await trusted.issue('plant', { names, keyKind: 'rsa 1024' }),
  } satisfies Readonly<Record<'good' | (typeof badCertificates)[number], Certificate>>
  // OpenSSL would not let a server show the short key.
  const ciphers = 'DEFAULT@SECLEVEL=0'
  return {
    ca: { text: trusted.cert, file: trusted.files.cert },
    contexts: Object.fromEntries(
      Object.entries(shown).map(([name, one]) => [name, { cert: one.cert, key: one.key, ciphers }]),
    ),
    remove: () => certificates.remove(),
  }
}
