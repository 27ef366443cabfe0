/**
 * X.509-SVIDs of Margo's identity framework: which rules a certificate has to follow, and whether a path leads from it to an authority (RFC 5280 §6). Node
 * verifies paths only during a handshake, and only to one set of authorities. Here each trust domain has its own, they change under open
 * connections, and behind a proxy there is no handshake.
 *
 *   leaf ──▶ intermediates that were sent with it ──▶ an authority of the bundle
 */
import type { KeyObject, X509Certificate } from 'node:crypto'
import type { Millis } from '../../../domain/values.ts'
import { keyOfCertificate, kindOfKey, purposes, readFacts } from './certificate-facts.ts'

/** When all certificates of a path are valid. */
export interface Validity {
  readonly from: Millis
  readonly until: Millis
}

/** `expired`: only its time is wrong. */
export interface Problem {
  readonly reason: 'expired' | 'claims' | 'untrusted'
  readonly message: string
}

/** The clock of the authority may be ahead of this one. */
export const tolerance = 60_000
/** Certificates that a device may send besides its own, and signatures that are verified for it. */
const [mostIntermediates, mostSignatures] = [8, 24]

/** The algorithms of SVIDs, by the kind of the key that signs. */
const signaturesBy: Readonly<Record<string, string>> = {
  'ecdsa P-256': 'ecdsa-sha256',
  'ecdsa P-384': 'ecdsa-sha384',
  ed25519: 'ed25519',
}
/** Of authorities above the one that issued the SVID. The profile leaves them to the operator. */
const signaturesAbove = /^(ed25519|(ecdsa|rsa)-sha(256|384|512))$/

/** Null: the certificate follows the rules for a leaf. */
export function problemOfLeaf(certificate: X509Certificate): string | null {
  const facts = readFacts(certificate)
  const key = keyOfCertificate(certificate)
  if (!facts || !key) return 'it cannot be read'
  const { usage } = facts
  if (!isKeyOfSvid(key))
    return `its key is ${kindOfKey(key)}: it must be ECDSA on P-256 or P-384, Ed25519, or RSA of 3072 to 8192 bits with an exponent below 2^32`
  if (!usage?.isCritical || !usage.signs) return 'it needs a critical key usage with digitalSignature'
  if (usage.signsCertificates || usage.signsLists) return 'its key usage must have neither keyCertSign nor cRLSign'
  if (facts.purposes && !Object.values(purposes).every((purpose) => facts.purposes?.includes(purpose)))
    return 'its extended key usage must have serverAuth and clientAuth, or be absent'
  return facts.unknown.length > 0 ? `its critical extension ${facts.unknown[0]} is unknown` : null
}

/** A certificate that cannot be an authority of a bundle. */
export function isUsableAuthority(certificate: X509Certificate): boolean {
  return certificate.ca && keyOfAuthority(certificate) !== null
}

/** A path from the first certificate of the chain to one of the authorities, or why there is none. */
export function findPath(
  [leaf, ...others]: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  now: Millis,
): Validity | Problem {
  if (!leaf) return { reason: 'untrusted', message: 'there is none' }
  if (others.length > mostIntermediates)
    return { reason: 'untrusted', message: `more than ${mostIntermediates} certificates were sent with it` }
  let [signatures, expired, other] = [0, null as string | null, null as string | null]
  const isValid = ({ validFromDate, validToDate, subject }: X509Certificate): boolean => {
    const [from, until] = [validFromDate.getTime() - tolerance, validToDate.getTime()]
    if (now >= from && now <= until) return true
    const when = now < from ? `is valid from ${validFromDate.toISOString()}` : `expired at ${validToDate.toISOString()}`
    expired ??= `the certificate of ${nameOf(subject)} ${when}, and the clock of this server says ${new Date(now).toISOString()}`
    return false
  }

  /** `below`: certificates of authorities between the leaf and the issuer. */
  function isIssued(certificate: X509Certificate, issuer: X509Certificate, below: number): boolean {
    if (signatures >= mostSignatures || !certificate.checkIssued(issuer)) return false
    const problem = problemOfIssuer(certificate, issuer, below)
    other ??= problem
    const key = problem === null ? keyOfAuthority(issuer) : null
    signatures += 1
    return key !== null && certificate.verify(key)
  }

  function climb(certificate: X509Certificate, unused: readonly X509Certificate[], below: number): Validity | null {
    if (!isValid(certificate)) return null
    const ending = authorities.find((issuer) => isIssued(certificate, issuer, below) && isValid(issuer))
    if (ending) return intersect(validityOf(certificate), validityOf(ending))
    for (const issuer of unused) {
      if (!isIssued(certificate, issuer, below)) continue
      const more = unused.filter((one) => one !== issuer)
      const rest = climb(issuer, more, below + (issuer.subject === issuer.issuer ? 0 : 1))
      if (rest) return intersect(validityOf(certificate), rest)
    }
    return null
  }

  const path = climb(leaf, others, 0)
  if (path) return path
  if (expired !== null) return { reason: 'expired', message: expired }
  return {
    reason: 'untrusted',
    message: other ?? 'no authority of its trust domain issued it, or the certificates between them were not sent',
  }
}

function problemOfIssuer(certificate: X509Certificate, issuer: X509Certificate, below: number): string | null {
  const [facts, by] = [readFacts(certificate), readFacts(issuer)]
  const key = keyOfAuthority(issuer)
  const whose = `the certificate of ${nameOf(issuer.subject)}`
  if (!facts || !by || !key || !issuer.ca) return `${whose} is not one of an authority with an accepted key`
  if (by.usage && !by.usage.signsCertificates) return `${whose} must have keyCertSign`
  if (by.pathLength !== null && by.pathLength < below) return `${whose} allows fewer certificates below it`
  if (by.constrainsNames) return `${whose} constrains names, which this server does not evaluate`
  if (by.unknown.length > 0) return `the critical extension ${by.unknown[0]} of ${whose} is unknown`
  if (certificate.ca)
    return signaturesAbove.test(facts.signature ?? '')
      ? null
      : `${whose} signed another one with an algorithm that is not accepted`
  // The signature of the SVID itself.
  const expected = kindOfKey(key).startsWith('rsa') ? 'rsa-sha256' : signaturesBy[kindOfKey(key)]
  return isKeyOfSvid(key) && facts.signature === expected
    ? null
    : `it is signed with ${facts.signature ?? 'an unknown algorithm'} by a key of ${kindOfKey(key)}: it must be SHA-256 with ECDSA on P-256 or RSA of at least 3072 bits, SHA-384 with ECDSA on P-384, or Ed25519`
}

function isKeyOfSvid(key: KeyObject): boolean {
  const kind = kindOfKey(key)
  return kind in signaturesBy || isRsa(key, 3_072)
}

/** A signature is verified in 28 ms with an exponent of 3072 bits, and in 13 ms with a modulus of 15,000: a device could send many such authorities with each request. */
function isRsa(key: KeyObject, least: number): boolean {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const isBounded = modulusLength <= 8_192 && publicExponent < 2n ** 32n
  return kindOfKey(key).startsWith('rsa') && modulusLength >= least && isBounded
}

function keyOfAuthority(certificate: X509Certificate): KeyObject | null {
  const key = keyOfCertificate(certificate)
  return key && (isKeyOfSvid(key) || isRsa(key, 2_048) || kindOfKey(key) === 'ecdsa P-521') ? key : null
}

function validityOf({ validFromDate, validToDate }: X509Certificate): Validity {
  return { from: validFromDate.getTime(), until: validToDate.getTime() }
}

function intersect(a: Validity, b: Validity): Validity {
  return { from: Math.max(a.from, b.from), until: Math.min(a.until, b.until) }
}

/** The device chose it. */
function nameOf(subject: string): string {
  return subject === '' ? 'the device' : subject.replaceAll('\n', ', ').slice(0, 100)
}
