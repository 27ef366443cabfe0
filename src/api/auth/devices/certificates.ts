/**
 * Client certificates (mutual TLS), from the connection itself or from a trusted proxy (`Client-Cert`, RFC 9440). The SPIFFE id in the
 * certificate identifies the device:
 *
 *   registered (spiffeIds) ──▶ that device
 *   in SPIFFE_TRUST_DOMAIN and of Margo's form, …/client/<clientId> ──▶ that device, if it is registered or DEVICE_PROVISION is set
 *   any other ──▶ refused
 *
 * With an identity service (auth/identity/), each certificate is verified here, also behind a proxy that has verified it, and the list of admitted clients decides
 * where there is one.
 */
import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { parseItem, parseList } from 'structured-headers'
import type { Database } from '../../../store/database.ts'
import { findIdentities } from '../../../store/read/device-credentials.ts'
import { createLookup } from './lookup.ts'
import type { Identify } from './presented.ts'
import type { Admit } from './provisioning.ts'
import { CredentialRefused, refuseEnded } from './refusal.ts'
import { clientOf, spiffeIdOf, trustDomainOf } from './spiffe.ts'
import type { Recognized, Trust } from './trust.ts'

export interface CertificateConfig {
  /** Trust domains whose SPIFFE ids identify clients without registration. */
  readonly trustDomains: readonly string[]
  /** Whether each trusted proxy overwrites `Client-Cert`. Otherwise a client could forge the header. */
  readonly isOverwritten: boolean
}

interface CertificateDeps {
  readonly database: Pick<Database, 'session'>
  readonly config: CertificateConfig
  readonly admit: Admit
  /** The same for a client on the list, whose first request registers it. */
  readonly admitListed: Admit
  /** Null: authorities come from TLS_CLIENT_CA, or a proxy verifies certificates. */
  readonly trust: Trust | null
  /** Whether the peer is a trusted proxy, whose headers are used. */
  readonly isTrusted: (request: IncomingMessage) => boolean
  readonly clock: () => number
}

export function createCertificateMethod(deps: CertificateDeps): Identify {
  const { database, config, admit, admitListed, trust, isTrusted, clock } = deps
  const find = createLookup((ids) => findIdentities(database.session, ids))

  async function deviceOf(spiffeId: string): Promise<string> {
    const held = await find(spiffeId)
    if (held) {
      refuseEnded(held)
      return held.device
    }
    const domain = trustDomainOf(spiffeId)
    const client = config.trustDomains.includes(domain) ? clientOf(spiffeId) : null
    if (client !== null) return admit(client, spiffeId)
    throw new CredentialRefused(
      'FORBIDDEN',
      'unknown',
      `${spiffeId} is not registered: register it with registerDevices (spiffeIds), or name its trust domain (SPIFFE_TRUST_DOMAIN) if it ends in /client/<clientId>`,
    )
  }

  /** As Margo's identity profile has it: a known client that is not admitted gets 403, also a retired one. */
  async function deviceOfClient(recognized: Recognized, isListed: boolean | null): Promise<string> {
    const { spiffeId, client } = recognized
    const held = await find(spiffeId)
    if (held) refuseEnded(held)
    if (isListed === false)
      throw new CredentialRefused('FORBIDDEN', 'unknown', `${spiffeId} is not in ADMITTED_CLIENTS`, held?.device)
    if (held) return held.device
    return (isListed ? admitListed : admit)(client, spiffeId)
  }

  async function identifyClient(request: IncomingMessage, { recognize, isListed }: Trust) {
    const chain = forwardedChain(request, config.isOverwritten && isTrusted(request)) ?? chainOf(request)
    const [certificate] = chain
    if (!certificate) return null
    refuseAuthority(certificate)
    const recognized = recognize(chain)
    try {
      return { device: await deviceOfClient(recognized, isListed(recognized)) }
    } catch (error) {
      if (!(error instanceof CredentialRefused && error.code === 'DEVICE_RETIRED')) throw error
      throw new CredentialRefused('FORBIDDEN', 'retired', error.message, error.device)
    }
  }

  return async ({ request }) => {
    if (trust) return identifyClient(request, trust)
    const certificate = forwarded(request, config.isOverwritten && isTrusted(request)) ?? ofConnection(request)
    if (!certificate) return null
    const now = clock()
    if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime())
      throw refused('expired', 'it has expired, or is not valid yet')
    refuseAuthority(certificate)
    const id = spiffeIdOf(certificate.subjectAltName)
    if (id === null) throw refused('claims', 'it must have exactly one URI among its names (SAN), a SPIFFE id')
    return { device: await deviceOf(id) }
  }
}

/** The certificate that a trusted proxy forwards. The proxy has verified it. */
function forwarded(request: IncomingMessage, isFromProxy: boolean): X509Certificate | null {
  const header = request.headersDistinct['client-cert']?.join(', ')
  if (header === undefined) return null
  if (!isFromProxy)
    throw refused(
      'untrusted',
      'Client-Cert is accepted only from proxies in TRUSTED_PROXIES, with CLIENT_CERT_HEADER=overwritten',
    )
  try {
    if (escapedPem.test(header)) return new X509Certificate(decodeURIComponent(header))
    const [bytes] = parseItem(header)
    if (bytes instanceof ArrayBuffer) return new X509Certificate(Buffer.from(bytes))
  } catch {
    // The error below covers every value that is not a certificate.
  }
  throw refused(
    'malformed',
    'Client-Cert must be the certificate (DER) in base64 between colons, or PEM as nginx escapes it',
  )
}

/** The forwarded certificate, followed by those between it and an authority (Client-Cert-Chain). */
function forwardedChain(request: IncomingMessage, isFromProxy: boolean): readonly X509Certificate[] | null {
  const certificate = forwarded(request, isFromProxy)
  if (certificate === null) return null
  const header = request.headersDistinct['client-cert-chain']?.join(', ')
  if (header === undefined) return [certificate]
  try {
    const issuers = parseList(header).map(([bytes]) => {
      if (!(bytes instanceof ArrayBuffer)) throw new TypeError()
      return new X509Certificate(Buffer.from(bytes))
    })
    return [certificate, ...issuers]
  } catch {
    throw refused('malformed', 'Client-Cert-Chain must be certificates (DER), each in base64 between colons')
  }
}

/** What each connection sent. Node would read it again for each request. */
const chains = new WeakMap<object, readonly X509Certificate[]>()

function chainOf({ socket }: IncomingMessage): readonly X509Certificate[] {
  const known = chains.get(socket)
  if (known) return known
  const chain: X509Certificate[] = []
  const { encrypted, getPeerX509Certificate } = socket as Partial<TLSSocket>
  let next = encrypted ? getPeerX509Certificate?.call(socket) : undefined
  for (; next; next = next.issuerCertificate) chain.push(next)
  chains.set(socket, chain)
  return chain
}

/** nginx has no variable in the form of RFC 9440. Its $ssl_client_escaped_cert is the certificate in PEM, percent-encoded. */
const escapedPem = /^-----BEGIN%20CERTIFICATE-----[\w%.-]+$/

function ofConnection(request: IncomingMessage): X509Certificate | null {
  const socket = request.socket as Partial<TLSSocket>
  const certificate = socket.encrypted ? socket.getPeerX509Certificate?.() : undefined
  if (!certificate) return null
  // This check precedes `authorized`, because OpenSSL's reason does not name the cause.
  refuseAuthority(certificate)
  if (!socket.authorized) throw refused('untrusted', `no trusted authority issued it (${socket.authorizationError})`)
  return certificate
}

function refuseAuthority({ ca }: X509Certificate): void {
  if (ca)
    throw refused(
      'claims',
      "it is the certificate of an authority (CA:TRUE): issue the device's certificate with CA:FALSE",
    )
}

function refused(reason: 'untrusted' | 'malformed' | 'expired' | 'claims', why: string): CredentialRefused {
  return new CredentialRefused('UNAUTHENTICATED', reason, `the client certificate is refused: ${why}`)
}
