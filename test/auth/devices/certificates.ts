/** Certificates as tests need them, made with openssl: an authority, and what it signs. */
import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Certificate {
  readonly cert: string
  readonly key: string
  /** Paths of the two. */
  readonly files: { readonly cert: string; readonly key: string }
}

interface CertificateOptions {
  /** Its names, as openssl writes them: `URI:spiffe://…`, `DNS:…`. */
  readonly names?: string
  /** Negative: it has expired. */
  readonly days?: number
  readonly isAuthority?: boolean
  /** The only use of its key, as openssl writes it. */
  readonly purpose?: string
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

export async function createCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-certificates-'))
  let serial = 0

  async function make(name: string, options: CertificateOptions, by: Certificate | null): Promise<Certificate> {
    serial += 1
    const path = (suffix: string) => join(folder, `${serial}.${suffix}`)
    const files = { cert: path('pem'), key: path('key') }
    const { names, days = 1, isAuthority = false, purpose, shortKey = false } = options
    await writeFile(
      path('ext'),
      [
        `basicConstraints=critical,CA:${isAuthority}`,
        ...(names ? [`subjectAltName=${names}`] : []),
        ...(purpose ? [`extendedKeyUsage=${purpose}`] : []),
      ].join('\n'),
    )
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const newKey = [...(shortKey ? ['-newkey', 'rsa:1024'] : curve), '-nodes']
    await run('openssl', ['req', '-new', ...newKey, '-subj', `/CN=${name}`, '-keyout', files.key, '-out', path('csr')])
    const signer = by ? ['-CA', by.files.cert, '-CAkey', by.files.key] : ['-signkey', files.key]
    const sign = ['-days', String(days), '-extfile', path('ext'), '-set_serial', String(serial), '-out', files.cert]
    await run('openssl', ['x509', '-req', '-in', path('csr'), ...signer, ...sign])
    return { files, cert: await readFile(files.cert, 'utf8'), key: await readFile(files.key, 'utf8') }
  }

  return {
    async authority(name, own = {}) {
      const authority = await make(name, { ...own, isAuthority: true }, null)
      return { ...authority, issue: (whose, options = {}) => make(whose, options, authority) }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** As a proxy forwards it (RFC 9440). */
export const clientCert = ({ cert }: Certificate) => ({
  'client-cert': `:${new X509Certificate(cert).raw.toString('base64')}:`,
})
