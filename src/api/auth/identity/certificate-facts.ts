/** What a certificate says that Node does not show: how it is signed, what its key may be used for, and its critical extensions. */
import type { KeyObject, X509Certificate } from 'node:crypto'
import { contentOf, type Element, elementsOf, explicit, NotDer, numberOf, oidOf, tags } from './der.ts'

export interface CertificateFacts {
  /** Such as `ecdsa-sha256`. Null: another algorithm. */
  readonly signature: string | null
  /** Null: there is no such extension. */
  readonly usage: KeyUsage | null
  /** OIDs of the extended key usage. Null: there is no such extension. */
  readonly purposes: readonly string[] | null
  /** Certificates of authorities that may follow below it. Null: any number. */
  readonly pathLength: number | null
  readonly constrainsNames: boolean
  /** OIDs of critical extensions that are not evaluated. A verifier that does not know one must refuse the certificate (RFC 5280 §4.2). */
  readonly unknown: readonly string[]
}

interface KeyUsage {
  readonly isCritical: boolean
  readonly signs: boolean
  readonly signsCertificates: boolean
  readonly signsLists: boolean
}

export const purposes = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' }

const hashes: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}
const signatures: Readonly<Record<string, string>> = {
  '1.2.840.10045.4.3.2': 'ecdsa-sha256',
  '1.2.840.10045.4.3.3': 'ecdsa-sha384',
  '1.2.840.10045.4.3.4': 'ecdsa-sha512',
  '1.2.840.113549.1.1.11': 'rsa-sha256',
  '1.2.840.113549.1.1.12': 'rsa-sha384',
  '1.2.840.113549.1.1.13': 'rsa-sha512',
  '1.3.101.112': 'ed25519',
}
const pss = '1.2.840.113549.1.1.10'
const extensionIds = {
  usage: '2.5.29.15',
  names: '2.5.29.17',
  constraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  policies: '2.5.29.32',
  purposes: '2.5.29.37',
}
const known: ReadonlySet<string> = new Set(Object.values(extensionIds))

/**
 * Bytes of SubjectPublicKeyInfo. An RSA key of 8192 bits has 1,062. Node computes the exponent of a key in a time that grows with the square of its length
 * (devices/public-key.ts).
 */
const longestKey = 2_048

/** Null: it cannot be read. */
export function readFacts(certificate: X509Certificate): CertificateFacts | null {
  return unlessUnreadable(() => factsIn(certificate))
}

function factsIn(certificate: X509Certificate): CertificateFacts {
  const parts = partsOf(certificate)
  const extensions = extensionsOf(parts.extensions)
  const { usage, constraints, purposes: allowed } = extensionIds
  const purposeList = extensions.get(allowed)
  return {
    signature: signatureOf(parts.signature),
    usage: usageOf(extensions.get(usage)),
    purposes: purposeList ? sequenceIn(purposeList.value).map(oidOf) : null,
    pathLength: pathLengthOf(extensions.get(constraints)?.value),
    constrainsNames: extensions.has(extensionIds.nameConstraints),
    unknown: [...extensions].flatMap(([id, { isCritical }]) => (isCritical && !known.has(id) ? [id] : [])),
  }
}

/** Null: it is so long that it is not read, or of an unknown kind. */
export function keyOfCertificate(certificate: X509Certificate): KeyObject | null {
  return unlessUnreadable(() => {
    if (partsOf(certificate).keyLength > longestKey) return null
    try {
      return certificate.publicKey
    } catch {
      return null
    }
  })
}

function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof NotDer) return null
    throw error
  }
}

const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }

/** In the terms of `signatures`, without the hash: `ecdsa P-256`, `rsa 3072`, `ed25519`. */
export function kindOfKey(key: KeyObject): string {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'ec':
      return `ecdsa ${curves[namedCurve ?? ''] ?? namedCurve}`
    case 'rsa':
    case 'rsa-pss':
      return `rsa ${modulusLength}`
    default:
      return String(key.asymmetricKeyType)
  }
}

function partsOf({ raw }: X509Certificate) {
  const [content, signature] = elementsOf(contentOf(elementsOf(raw)[0], tags.sequence))
  const elements = elementsOf(contentOf(content, tags.sequence))
  // The version may be missing.
  const [, , , , , key] = elements[0]?.tag === explicit(0) ? elements.slice(1) : elements
  return {
    signature,
    keyLength: contentOf(key, tags.sequence).length,
    extensions: elements.find(({ tag }) => tag === explicit(3)),
  }
}

interface Extension {
  readonly isCritical: boolean
  readonly value: Uint8Array
}

function extensionsOf(element: Element | undefined): ReadonlyMap<string, Extension> {
  const found = new Map<string, Extension>()
  if (!element) return found
  for (const extension of sequenceIn(element.content)) {
    const parts = elementsOf(contentOf(extension, tags.sequence))
    const isCritical = parts[1]?.tag === tags.boolean && parts[1].content[0] !== 0
    const id = oidOf(parts[0])
    // Others may read the first one, or the last.
    if (found.has(id)) throw new NotDer()
    found.set(id, { isCritical, value: contentOf(parts.at(-1), tags.octets) })
  }
  return found
}

function sequenceIn(bytes: Uint8Array): readonly Element[] {
  return elementsOf(contentOf(elementsOf(bytes)[0], tags.sequence))
}

function pathLengthOf(value: Uint8Array | undefined): number | null {
  const length = value && sequenceIn(value).find(({ tag }) => tag === tags.integer)
  return length ? numberOf(length) : null
}

function usageOf(extension: Extension | undefined): KeyUsage | null {
  if (!extension) return null
  const [, first = 0] = contentOf(elementsOf(extension.value)[0], tags.bits)
  const { isCritical } = extension
  return { isCritical, signs: (first & 0x80) > 0, signsCertificates: (first & 4) > 0, signsLists: (first & 2) > 0 }
}

function signatureOf(element: Element | undefined): string | null {
  const [id, parameters] = elementsOf(contentOf(element, tags.sequence))
  const oid = oidOf(id)
  if (oid !== pss) return signatures[oid] ?? null
  // Without a hash, it is SHA-1 (RFC 4055 §3.1).
  const hash = elementsOf(contentOf(parameters, tags.sequence)).find(({ tag }) => tag === explicit(0))
  const name = hash && hashes[oidOf(sequenceIn(hash.content)[0])]
  return name ? `rsa-${name}` : null
}
