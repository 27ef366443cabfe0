/** Certificates as tests need them: an authority, and what it signs. */
import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alternativeNames, bits, boolean, integer, objectId, octets, sequence, set, tagged, text, time } from './der.ts'

export interface Certificate {
  readonly cert: string
  readonly key: string
  /** Paths of the two. */
  readonly files: { readonly cert: string; readonly key: string }
}

interface CertificateOptions {
  /** Its names, as OpenSSL writes them: `URI:spiffe://…`, `DNS:…`, `IP:…`. */
  readonly names?: string
  /** Negative: it has expired. */
  readonly days?: number
  readonly isAuthority?: boolean
  /** The only use of its key. */
  readonly purpose?: keyof typeof purposes
  /** RSA with 1,024 bits, which clients refuse. */
  readonly shortKey?: boolean
}

export interface Authority extends Certificate {
  issue(name: string, options?: CertificateOptions): Promise<Certificate>
}

export interface Certificates {
  authority(name: string, options?: CertificateOptions): Promise<Authority>
  remove(): Promise<void>
}

const purposes = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' }
const day = 86_400_000

interface Signer {
  readonly name: string
  readonly key: KeyObject
}

const extension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), octets(value))
const nameOf = (name: string): Buffer => sequence(set(sequence(objectId('2.5.4.3'), text(name))))

/** An X.509 certificate of version 3 (RFC 5280), in DER. */
function certificateOf(key: KeyObject, name: string, serial: number, by: Signer, options: CertificateOptions): Buffer {
  const { names, days = 1, isAuthority = false, purpose } = options
  const isRsa = by.key.asymmetricKeyType === 'rsa'
  const algorithm = isRsa
    ? sequence(objectId('1.2.840.113549.1.1.11'), tagged(0x05))
    : sequence(objectId('1.2.840.10045.4.3.2'))
  const ends = Date.now() + days * day
  const extensions = [
    extension('2.5.29.19', true, sequence(...(isAuthority ? [boolean(true)] : []))),
    ...(names ? [extension('2.5.29.17', false, alternativeNames(names))] : []),
    ...(purpose ? [extension('2.5.29.37', false, sequence(objectId(purposes[purpose])))] : []),
  ]
  const content = sequence(
    tagged(0xa0, integer(2)),
    integer(serial),
    algorithm,
    nameOf(by.name),
    sequence(time(Math.min(Date.now(), ends - day)), time(ends)),
    nameOf(name),
    key.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  return sequence(content, algorithm, bits(sign('sha256', content, by.key)))
}

export async function createCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-certificates-'))
  let serial = 0

  async function make(name: string, options: CertificateOptions, by: Signer | null) {
    serial += 1
    const files = { cert: join(folder, `${serial}.pem`), key: join(folder, `${serial}.key`) }
    const { publicKey, privateKey } = options.shortKey
      ? generateKeyPairSync('rsa', { modulusLength: 1_024 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signer = { name, key: privateKey }
    const cert = new X509Certificate(certificateOf(publicKey, name, serial, by ?? signer, options)).toString()
    const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(files.cert, cert)
    await writeFile(files.key, key)
    return { certificate: { files, cert, key }, signer }
  }

  return {
    async authority(name, own = {}) {
      const { certificate, signer } = await make(name, { ...own, isAuthority: true }, null)
      return {
        ...certificate,
        issue: async (whose, options = {}) => (await make(whose, options, signer)).certificate,
      }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** As a proxy forwards it (RFC 9440). */
export const clientCert = ({ cert }: Certificate) => ({
  'client-cert': `:${new X509Certificate(cert).raw.toString('base64')}:`,
})
