/** Certificates as tests need them: an authority, and what it signs. */
import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto'
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
  /** Absent: ECDSA on P-256. `rsa 1024` is a short key, which clients refuse. */
  readonly keyKind?: keyof typeof keyKinds
  /** Absent: SHA-256 of the kind of its issuer's key. */
  readonly signature?: keyof typeof algorithms
  /** Bits of its key usage, from the first on. Absent: it has none. */
  readonly usage?: { readonly bits: string; readonly isCritical?: boolean }
  /** Certificates of authorities that may follow it. */
  readonly pathLength?: number
  /** Further extensions. */
  readonly extensions?: readonly Buffer[]
}

export interface Authority extends Certificate {
  issue(name: string, options?: CertificateOptions): Promise<Certificate>
  /** An authority that this one has signed. */
  subordinate(name: string, options?: CertificateOptions): Promise<Authority>
}

const keyKinds = {
  'ecdsa P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'ecdsa P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'ecdsa P-521': () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  'ecdsa secp256k1': () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  ed25519: () => generateKeyPairSync('ed25519'),
  'rsa 1024': () => generateKeyPairSync('rsa', { modulusLength: 1_024 }),
  'rsa 2048': () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  'rsa 3072': () => generateKeyPairSync('rsa', { modulusLength: 3_072 }),
  'rsa 3072 with a long exponent': exchangedExponents,
}

/** To verify its signatures takes 28 ms, and not 0.1. */
function exchangedExponents(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  const { e = '', d = '', ...more } = keyKinds['rsa 3072']().privateKey.export({ format: 'jwk' })
  const privateKey = createPrivateKey({ key: { ...more, e: d, d: e, dp: e, dq: e }, format: 'jwk' })
  return { publicKey: createPublicKey(privateKey), privateKey }
}

const sha256 = sequence(objectId('2.16.840.1.101.3.4.2.1'))
const mask = sequence(objectId('1.2.840.113549.1.1.8'), sha256)
const pss = sequence(tagged(0xa0, sha256), tagged(0xa1, mask), tagged(0xa2, integer(32)))
/** The AlgorithmIdentifier of a signature, and how Node makes it. */
const algorithms = {
  'ecdsa-sha1': { id: sequence(objectId('1.2.840.10045.4.1')), hash: 'sha1' },
  'ecdsa-sha256': { id: sequence(objectId('1.2.840.10045.4.3.2')), hash: 'sha256' },
  'ecdsa-sha384': { id: sequence(objectId('1.2.840.10045.4.3.3')), hash: 'sha384' },
  'rsa-sha1': { id: sequence(objectId('1.2.840.113549.1.1.5'), tagged(0x05)), hash: 'sha1' },
  'rsa-sha256': { id: sequence(objectId('1.2.840.113549.1.1.11'), tagged(0x05)), hash: 'sha256' },
  'rsa-sha512': { id: sequence(objectId('1.2.840.113549.1.1.13'), tagged(0x05)), hash: 'sha512' },
  'pss-sha256': { id: sequence(objectId('1.2.840.113549.1.1.10'), pss), hash: 'sha256' },
  ed25519: { id: sequence(objectId('1.3.101.112')), hash: null },
}
const usual = { ec: 'ecdsa-sha256', rsa: 'rsa-sha256', ed25519: 'ed25519' } as const

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

export const extension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), octets(value))
const nameOf = (name: string): Buffer => sequence(set(sequence(objectId('2.5.4.3'), text(name))))

/** An X.509 certificate of version 3 (RFC 5280), in DER. */
function certificateOf(key: KeyObject, name: string, serial: number, by: Signer, options: CertificateOptions): Buffer {
  const { names, days = 1, isAuthority = false, purpose, usage, pathLength } = options
  const kind = usual[by.key.asymmetricKeyType as keyof typeof usual]
  const { id: algorithm, hash } = algorithms[options.signature ?? kind]
  const ends = Date.now() + days * day
  const constraints = [
    ...(isAuthority ? [boolean(true)] : []),
    ...(pathLength === undefined ? [] : [integer(pathLength)]),
  ]
  const extensions = [
    extension('2.5.29.19', true, sequence(...constraints)),
    ...(names ? [extension('2.5.29.17', false, alternativeNames(names))] : []),
    ...(purpose ? [extension('2.5.29.37', false, sequence(objectId(purposes[purpose])))] : []),
    ...(usage ? [extension('2.5.29.15', usage.isCritical ?? true, usageBits(usage.bits))] : []),
    ...(options.extensions ?? []),
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
  const padding = options.signature === 'pss-sha256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}
  return sequence(content, algorithm, bits(sign(hash, content, { key: by.key, ...padding })))
}

const usageBits = (text: string): Buffer => {
  const byte = Number.parseInt(text.padEnd(8, '0'), 2)
  return tagged(0x03, Buffer.from([8 - text.length, byte]))
}

export async function createCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-certificates-'))
  let serial = 0

  async function make(name: string, options: CertificateOptions, by: Signer | null) {
    serial += 1
    const files = { cert: join(folder, `${serial}.pem`), key: join(folder, `${serial}.key`) }
    const { publicKey, privateKey } = keyKinds[options.keyKind ?? 'ecdsa P-256']()
    const signer = { name, key: privateKey }
    const cert = new X509Certificate(certificateOf(publicKey, name, serial, by ?? signer, options)).toString()
    const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(files.cert, cert)
    await writeFile(files.key, key)
    return { certificate: { files, cert, key }, signer }
  }

  async function makeAuthority(name: string, options: CertificateOptions, by: Signer | null): Promise<Authority> {
    const { certificate, signer } = await make(name, { ...options, isAuthority: true }, by)
    return {
      ...certificate,
      issue: async (whose, own = {}) => (await make(whose, own, signer)).certificate,
      subordinate: (whose, own = {}) => makeAuthority(whose, own, signer),
    }
  }

  return {
    authority: (name, options = {}) => makeAuthority(name, options, null),
    remove: () => rm(folder, { recursive: true }),
  }
}

/** As a proxy forwards it (RFC 9440). */
export const clientCert = ({ cert }: Certificate) => ({
  'client-cert': `:${new X509Certificate(cert).raw.toString('base64')}:`,
})
