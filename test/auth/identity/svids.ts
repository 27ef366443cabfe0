/** Authorities and X.509-SVIDs as Margo's identity profile has them. */
import { X509Certificate } from 'node:crypto'
import type { Authority, Certificate } from '../devices/certificates.ts'

type Options = NonNullable<Parameters<Authority['issue']>[1]>

/** digitalSignature; and with keyCertSign and cRLSign. */
export const [signs, signsCertificates] = [{ bits: '1' }, { bits: '000001' }]
export const idOf = (client: string, domain = 'factory.example', wfm = 'plant') =>
  `spiffe://${domain}/margo/wfm/${wfm}/client/${client}`

export const issueSvid = (by: Authority, id: string, options: Options = {}): Promise<Certificate> =>
  by.issue('', { names: `URI:${id}`, usage: signs, ...options })

/** The certificates of a PEM, from the first on. */
export const chainOf = (...parts: readonly Certificate[]): X509Certificate[] =>
  parts.map(({ cert }) => new X509Certificate(cert))

export const bundleOf = (sequence: number | null, ...authorities: readonly Certificate[]) => ({
  ...(sequence !== null && { spiffe_sequence: sequence }),
  spiffe_refresh_hint: 60,
  keys: authorities.map(({ cert }) => ({
    ...{ kty: 'EC', crv: 'P-256', use: 'x509-svid' },
    x5c: [new X509Certificate(cert).raw.toString('base64')],
  })),
})
