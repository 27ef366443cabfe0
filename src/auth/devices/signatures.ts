/**
 * Signed messages (RFC 9421) of clients whose public keys are registered. In this order:
 *
 *   no signature at all ──▶ none of ours · Content-Digest missing (of what has a body) or none that we know ──▶ 400 · cannot be read ──▶ 401
 *   nobody's key ──▶ 403 · covers too little, too old, does not fit ──▶ 401 · its device revoked ──▶ 403, retired ──▶ 410 · used before ──▶ 401
 *   not the digest of the body ──▶ 400
 *
 * All but the last needs headers only: a signature covers the digest, not the body. So a body is read only for a key that is registered.
 * Used is what became a report (claims.ts): whoever was told to come again sends the same once more, and asking changes nothing, however often. A message is told from another by what was
 * signed, not by the signature, of which some kinds of keys have more than one for the same; who must say the same twice in a second
 * adds a nonce.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { parseDictionary } from 'structured-headers'
import type { Database } from '../../store/database.ts'
import { findIdentities, findUsed, type HeldIdentity } from '../../store/read/device-credentials.ts'
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
  /** Seconds that `created` may lie in the past, and in the future. */
  readonly window: number
}

export interface SignatureDeps {
  readonly database: Pick<Database, 'session'>
  readonly config: SignatureConfig
  /** Where the world reaches this server: what `@target-uri` and `@authority` are. Null: as the request says. */
  readonly publicUrl: string | null
  readonly clock: () => number
}

export function createSignatureMethod({ database, config, publicUrl, clock }: SignatureDeps): Identify {
  const findKey = createLookup((ids) => findIdentities(database.session, ids))
  const isUsed = createLookup((ids) => findUsed(database.session, ids))

  /** Null: it is not of a key that is registered here. Somebody on the way may have signed, too. */
  async function check(message: Message, one: MessageSignature): Promise<Found | null> {
    const id = one.parameters.get('keyid')
    if (typeof id !== 'string') return null
    const held = await findKey(id.toLowerCase())
    if (!held || held.publicKey === null) return null
    const until = requireFresh(one)
    requireCoverage(one, message)
    const base = signatureBase(message, one.input)
    requireFit(held, one, base, message)
    refuseEnded(held)
    const proof = { id: nameOf(held.id, one, base), until }
    if (await isUsed(proof.id)) throw replayed()
    return { device: held.device, proof }
  }

  /** Until when it would be good. */
  function requireFresh({ parameters }: MessageSignature): number {
    const [created, expires] = [parameters.get('created'), parameters.get('expires')]
    const now = clock() / 1000
    if (typeof created !== 'number') throw refused('malformed', 'created is missing: it must say when it was made')
    if (Math.abs(now - created) > config.window)
      throw refused('expired', `it was created more than ${config.window} s ago or ahead: check the clock`)
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
      'the Signature is of no key that is registered here: keyid must be the SHA-256 of the public key (SPKI, DER) in hexadecimal',
    )
  }
}

interface Digest {
  readonly name: string
  readonly value: Uint8Array
}

/** By the algorithms that we know, with the bytes of each. */
const digestSizes: Readonly<Record<string, number>> = { 'sha-256': 32, 'sha-512': 64 }

/** Null: what only asks has no body, and needs none. */
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

/** That the body is the one that was signed: each digest that we know must be right. */
function requireDigest(digests: readonly Digest[] | null, body: Uint8Array): void {
  for (const { name, value } of digests ?? [])
    if (!timingSafeEqual(value, createHash(name.replace('-', '')).update(body).digest())) throw wrongDigest(name)
}

function wrongDigest(name: string): CredentialRefused {
  return new CredentialRefused('INVALID_REQUEST', 'digest', `content-digest: its ${name} is not that of the body`)
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

/** Whoever could change what was asked, or of whom, could make another message of it. */
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

function requireFit(held: HeldIdentity, one: MessageSignature, base: string, message: Message): void {
  const key = keyOf(held.publicKey ?? '')
  const said = one.parameters.get('alg')
  const candidates = algorithmsOf(key).filter((algorithm) => said === undefined || algorithm === said)
  if (candidates.length === 0) throw refused('signature', `the key cannot be used with alg ${JSON.stringify(said)}`)
  if (candidates.some((algorithm) => isSignedBy(key, algorithm, base, one.signature))) return
  throw refused(
    'signature',
    `it does not fit what was sent: here that is ${message.derived.get('@method')} ${message.derived.get('@target-uri')}`,
  )
}

function nameOf(keyId: string, { parameters }: MessageSignature, base: string): string {
  const nonce = parameters.get('nonce')
  const said = typeof nonce === 'string' ? ['nonce', keyId, nonce] : ['message', keyId, base]
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url')
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
