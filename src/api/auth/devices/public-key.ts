/** Public keys: the forms that an operator registers, and the form that is stored. */
import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { algorithmsOf } from './http-signature.ts'

/** Characters of a certificate, whose chain may be with it. */
const longestText = 64 << 10
/**
 * Bytes of SubjectPublicKeyInfo. An RSA key of 8192 bits has 1,062. Node computes the exponent of a key as a number, in a time that grows with the square of its
 * length: an exponent of 32 KB stopped the event loop for 0.1 s, and one of 750 KB for two minutes.
 */
const longestKey = 2_048

export interface PublicKey {
  /** The `keyid` of signatures: the SHA-256 of the SubjectPublicKeyInfo, in hexadecimal. */
  readonly id: string
  /** SubjectPublicKeyInfo in base64. */
  readonly publicKey: string
}

/** Reads PEM (a public key or a certificate), or SubjectPublicKeyInfo in base64. Returns the problem as text if it cannot. */
export function readPublicKey(text: string): PublicKey | string {
  if (text.includes('PRIVATE KEY')) return 'is a private key, which must never leave the device: send the public key'
  const key = text.length > longestText ? null : parse(text.trim())
  if (!key || key.export({ type: 'spki', format: 'der' }).length > longestKey)
    return 'must be a public key or a certificate in PEM, or SubjectPublicKeyInfo in base64'
  if (algorithmsOf(key).length === 0)
    return 'must be an ECDSA key on P-256, an Ed25519 key, or an RSA key of 2048 to 8192 bits'
  return { id: keyIdOf(key), publicKey: key.export({ type: 'spki', format: 'der' }).toString('base64') }
}

export function keyIdOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

export function keyOf(publicKey: string): KeyObject {
  return createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' })
}

function parse(text: string): KeyObject | null {
  try {
    if (text.includes('BEGIN CERTIFICATE')) return new X509Certificate(text).publicKey
    return text.startsWith('-----') ? createPublicKey(text) : keyOf(text)
  } catch {
    return null
  }
}
