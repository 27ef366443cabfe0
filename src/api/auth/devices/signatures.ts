/**
 * Signed messages (RFC 9421) of clients whose public keys are registered. Checks, in this order:
 *
 *   no signature ──▶ not this method · Content-Digest of a body missing or of unknown algorithms ──▶ 400 · malformed ──▶ 401
 *   unknown key ──▶ 403 · too old, insufficient coverage, wrong signature ──▶ 401 · device retired ──▶ 410, revoked ──▶ 403 · used before ──▶ 401
 *   digest does not match the body ──▶ 400
 *
 * All checks except the last need only headers: a signature covers the digest, not the body. So a body is read only for a registered key.
 * A message is used when it becomes a report (claims.ts). A device that received a 503 may send the same message again, and reads may repeat.
 * Messages are compared by their signed content, not by their signatures: some algorithms produce several signatures of the same content.
 * A client that sends the same content twice within a second adds a nonce.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { parseDictionary } from 'structured-headers'
import type { Database } from '../../../store/database.ts'
import { findSigners, type HeldIdentity, type SignedMessage } from '../../../store/read/device-credentials.ts'
import {
  algorithmsOf,
  coveredBy,
  isSignedBy,
  type Message,
  type MessageSignature,
  readSignatures,
  SignatureSyntax,
  signatureBase,
} from './http-signature.ts'
import { createLookup } from './lookup.ts'
import type { Found, Identify } from './presented.ts'
import { keyOf } from './public-key.ts'
import { CredentialRefused, refuseEnded, replayed } from './refusal.ts'

export interface SignatureConfig {
  /** Seconds by which `created` may differ from the clock of the server. */
  readonly window: number
}

interface SignatureDeps {
  readonly database: Pick<Database, 'session'>
  readonly config: SignatureConfig
  /** The public URL of this server, for `@target-uri` and `@authority`. Null: the Host of the request. */
  readonly publicUrl: string | null
  readonly clock: () => number
}

export function createSignatureMethod({ database, config, publicUrl, clock }: SignatureDeps): Identify {
  /** By proof: it is a hash of the key id, too. */
  const asked = new Map<string, SignedMessage>()
  const findSigner = createLookup((proofs) => {
    const messages = proofs.flatMap((proof) => asked.get(proof) ?? [])
    for (const proof of proofs) asked.delete(proof)
    return findSigners(database.session, messages)
  })

  /** Null: the key is not registered. An intermediary may have added a signature of its own. */
  async function check(message: Message, one: MessageSignature): Promise<Found | null> {
    const id = one.parameters.get('keyid')
    if (typeof id !== 'string') return null
    const keyId = id.toLowerCase()
    const base = readBase(message, one)
    const proof = nameOf(keyId, one, typeof base === 'string' ? base : '')
    asked.set(proof, { keyId, proof })
    const held = await findSigner(proof)
    if (!held || held.publicKey === null) return null
    const until = requireFresh(one)
    requireCoverage(one, message)
    if (typeof base !== 'string') throw base
    requireValid(held, one, base, message)
    refuseEnded(held)
    if (held.isUsed) throw replayed()
    return { device: held.device, proof: { id: proof, until } }
  }

  /** Returns the time until which the message is valid. */
  function requireFresh({ parameters }: MessageSignature): number {
    const [created, expires] = [parameters.get('created'), parameters.get('expires')]
    const now = clock() / 1000
    if (typeof created !== 'number')
      throw refused('malformed', 'the parameter created is missing: it must be the time of the signature')
    if (Math.abs(now - created) > config.window)
      throw refused(
        'expired',
        `created differs from the clock of the server by more than ${config.window} s: check the clock of the device`,
      )
    if (expires !== undefined && !(typeof expires === 'number' && expires >= now))
      throw refused('expired', 'it has expired')
    return (created + config.window + 1) * 1000
  }

  return async (presented) => {
    const { headers } = presented.request
    if (headers.signature === undefined && headers['signature-input'] === undefined) return null
    const digests = announcedDigests(presented.request)
    const message = messageOf(presented.request, publicUrl)
    try {
      for (const one of readSignatures(message)) {
        const found = await check(message, one)
        if (!found) continue
        requireDigest(digests, await presented.body())
        return found
      }
    } catch (error) {
      throw error instanceof SignatureSyntax ? refused('malformed', error.message) : error
    }
    throw new CredentialRefused(
      'FORBIDDEN',
      'unknown',
      'no key of the Signature is registered: keyid must be the SHA-256 of the public key (SPKI, DER) in hexadecimal',
    )
  }
}

/** An error is thrown only for a registered key: an intermediary may sign in its own way. */
function readBase(message: Message, { input }: MessageSignature): string | SignatureSyntax {
  try {
    return signatureBase(message, input)
  } catch (error) {
    if (error instanceof SignatureSyntax) return error
    throw error
  }
}

interface Digest {
  readonly name: string
  readonly value: Uint8Array
}

/** Bytes of each supported algorithm. */
const digestSizes: Readonly<Record<string, number>> = { 'sha-256': 32, 'sha-512': 64 }

/** Null: a read without a body needs no digest. */
function announcedDigests({ method, headers }: IncomingMessage): readonly Digest[] | null {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (onlyAsks(method) && !hasBody && headers['content-digest'] === undefined) return null
  const digests = readDigests(headers['content-digest'])
  const known = Object.entries(digestSizes).flatMap(([name, size]) => {
    const [value] = digests.get(name) ?? []
    if (!(value instanceof ArrayBuffer)) return []
    if (value.byteLength !== size) throw wrongDigest(name)
    return [{ name, value: new Uint8Array(value) }]
  })
  if (known.length > 0) return known
  throw new CredentialRefused(
    'INVALID_REQUEST',
    'digest',
    'content-digest is missing: a signed message needs Content-Digest: sha-256=:…: (RFC 9530)',
  )
}

/** Checks that the body is the signed one: each supported digest must match. */
function requireDigest(digests: readonly Digest[] | null, body: Uint8Array): void {
  for (const { name, value } of digests ?? [])
    if (!timingSafeEqual(value, createHash(name.replace('-', '')).update(body).digest())) throw wrongDigest(name)
}

function wrongDigest(name: string): CredentialRefused {
  return new CredentialRefused('INVALID_REQUEST', 'digest', `content-digest: the ${name} does not match the body`)
}

function readDigests(header: string | string[] | undefined): ReturnType<typeof parseDictionary> {
  try {
    return parseDictionary(String(header ?? ''))
  } catch {
    return new Map()
  }
}

function onlyAsks(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Requires coverage of the method, the target and the body. An attacker could reuse the signature for a request that differs in an uncovered part. */
function requireCoverage({ input }: MessageSignature, { derived }: Message): void {
  const covered = coveredBy(input)
  const isWhole = covered.has('content-digest') || onlyAsks(derived.get('@method'))
  const isAimed =
    covered.has('@target-uri') ||
    (covered.has('@authority') && (covered.has('@path') || covered.has('@request-target')))
  if (covered.has('@method') && isWhole && isAimed) return
  throw refused(
    'signature',
    'it must cover "@method", "content-digest" and "@target-uri" (or "@authority" and "@path") at least',
  )
}

function requireValid(held: HeldIdentity, one: MessageSignature, base: string, message: Message): void {
  const key = keyOf(held.publicKey ?? '')
  const alg = one.parameters.get('alg')
  const candidates = algorithmsOf(key).filter((algorithm) => alg === undefined || algorithm === alg)
  if (candidates.length === 0) throw refused('signature', `the key cannot be used with alg ${JSON.stringify(alg)}`)
  if (candidates.some((algorithm) => isSignedBy(key, algorithm, base, one.signature))) return
  throw refused(
    'signature',
    `it does not match the request, which arrived here as ${message.derived.get('@method')} ${message.derived.get('@target-uri')}`,
  )
}

function nameOf(keyId: string, { parameters }: MessageSignature, base: string): string {
  const nonce = parameters.get('nonce')
  const identity = typeof nonce === 'string' ? ['nonce', keyId, nonce] : ['message', keyId, base]
  return createHash('sha256').update(JSON.stringify(identity)).digest('base64url')
}

function refused(reason: 'malformed' | 'expired' | 'signature', why: string): CredentialRefused {
  return new CredentialRefused('UNAUTHENTICATED', reason, `the Signature is refused: ${why}`)
}

function messageOf(request: IncomingMessage, publicUrl: string | null): Message {
  const target = request.url ?? '/'
  const cut = target.indexOf('?')
  const [path, query] = cut < 0 ? [target, ''] : [target.slice(0, cut), target.slice(cut)]
  const isSecure = (request.socket as Partial<TLSSocket>).encrypted === true
  const base = new URL(
    publicUrl ?? URL.parse(`http${isSecure ? 's' : ''}://${request.headers.host}`) ?? 'http://unknown',
  )
  const prefix = base.pathname.replace(/\/$/, '')
  return {
    derived: new Map([
      ['@method', request.method ?? ''],
      ['@target-uri', `${base.protocol}//${base.host}${prefix}${target}`],
      ['@authority', base.host],
      ['@scheme', base.protocol.slice(0, -1)],
      ['@request-target', `${prefix}${target}`],
      ['@path', `${prefix}${path}`],
      ['@query', query || '?'],
    ]),
    query: new URLSearchParams(query),
    field: (name) => request.headersDistinct[name] ?? [],
  }
}
