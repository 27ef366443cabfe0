/**
 * Who reports: every way of DEVICE_AUTH is asked whether the request carries its kind of credential.
 *
 *   none does     ──▶ whoever it is, where DEVICE_AUTH has open; else refused (401)
 *   one does      ──▶ its device, or refused: a bad credential is never taken for none, also where DEVICE_AUTH has open
 *   several do    ──▶ all must be good, and of one device
 *
 * What the device may report is not decided here but with the report, under the writer's lock (ingest/devices.ts).
 */
import type { IncomingMessage } from 'node:http'
import type { Proof } from '../../ingest/commands/device.ts'
import type { Writer } from '../../ingest/writer.ts'
import type { Database } from '../../store/database.ts'
import { type CertificateConfig, createCertificateMethod } from './certificates.ts'
import { CredentialRefused, type DeviceAuthMethod, type RefusalReason } from './refusal.ts'
import { createSignatureMethod, type SignatureConfig } from './signatures.ts'
import { createTokenMethod, type DeviceJwtConfig } from './tokens.ts'
import { createAdmission } from './vouched.ts'

export interface DeviceAuthConfig {
  readonly methods: readonly DeviceAuthMethod[]
  /** Whether a device for which an issuer of tokens or of certificates vouches may come that nobody has registered. */
  readonly provision: boolean
  /** Null: only tokens that were issued here are taken. */
  readonly jwt: DeviceJwtConfig | null
  readonly signature: SignatureConfig
  readonly certificate: CertificateConfig
}

export interface DeviceIdentity {
  /** The device or client whose credential it is; null: nobody was asked. */
  readonly device: string | null
  readonly method: DeviceAuthMethod
  /** What must not be good again once it has become a report; null: there is none. */
  readonly proof: Proof | null
}

/** What a way of saying who reports may look at. */
export interface Presented {
  readonly request: IncomingMessage
  readonly body: Uint8Array
  /** Whether a token may also come as the password of somebody, as Git's clients send it. */
  readonly takesPassword?: boolean
}

export interface Found {
  readonly device: string
  readonly proof?: Proof
}

/** Whose credential; null when the request carries none of this kind. Throws CredentialRefused, or UNAVAILABLE. */
export type Identify = (presented: Presented) => Promise<Found | null>

export interface Refused {
  readonly method: DeviceAuthMethod
  readonly reason: RefusalReason
  readonly message: string
  /** Whose it is, where that is certain. */
  readonly device: string | null
  readonly request: IncomingMessage
}

export interface DeviceAuth {
  /** Throws CredentialRefused (INVALID_REQUEST, UNAUTHENTICATED, FORBIDDEN), or UNAVAILABLE. */
  authenticate(request: IncomingMessage, body: Uint8Array, asking?: Asking): Promise<DeviceIdentity>
  /** A good credential that reported for somebody else: for the log and the metrics. */
  noteStranger(identity: DeviceIdentity, request: IncomingMessage, message: string): void
  /** What a 401 says of how to do it right (WWW-Authenticate). */
  readonly challenge: string
  /** The same where a token may be a password. */
  readonly passwordChallenge: string
}

/** `takesPassword`: of clients that show nothing until they are asked, so that nothing is not noted as refused. */
export type Asking = Pick<Presented, 'takesPassword'>

export interface DeviceAuthDeps {
  readonly config: DeviceAuthConfig
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  /** Where the world reaches this server; null: as it says itself. */
  readonly publicUrl?: string | null
  /** Whether a request is from a proxy whose headers may be believed. */
  readonly isTrusted?: (request: IncomingMessage) => boolean
  readonly clock?: () => number
  /** Told of every credential that was refused. */
  readonly refused?: (refused: Refused) => void
}

const expected = {
  open: { credential: '', challenge: '' },
  token: { credential: 'Authorization: Bearer and a token', challenge: 'Bearer realm="rollcall"' },
  signature: {
    credential: 'Content-Digest, Signature-Input and Signature (RFC 9421)',
    challenge: 'Signature realm="rollcall"',
  },
  mtls: { credential: 'a client certificate', challenge: 'ClientCertificate realm="rollcall"' },
} as const satisfies Record<DeviceAuthMethod, { credential: string; challenge: string }>

export function createDeviceAuth(deps: DeviceAuthDeps): DeviceAuth {
  const { config, refused = () => {} } = deps
  const isOpen = config.methods.includes('open')
  const asked = config.methods.filter((method) => method !== 'open')
  const ways = new Map<DeviceAuthMethod, Identify>(asked.map((method) => [method, createMethod(deps, method)]))
  const anybody: DeviceIdentity = { device: null, method: 'open', proof: null }
  const missing = `a credential is needed: send ${asked.map((method) => expected[method].credential).join(', or ')}`

  function note(method: DeviceAuthMethod, request: IncomingMessage, error: unknown): void {
    if (error instanceof CredentialRefused) {
      const { reason, message, device } = error
      refused({ method, request, reason, message, device })
    }
  }

  async function ask(
    method: DeviceAuthMethod,
    identify: Identify,
    presented: Presented,
  ): Promise<DeviceIdentity | null> {
    try {
      const found = await identify(presented)
      return found && { proof: null, ...found, method }
    } catch (error) {
      note(method, presented.request, error)
      throw error
    }
  }

  function disagreeing(request: IncomingMessage, found: readonly DeviceIdentity[]): CredentialRefused {
    const whose = found.map(({ device, method }) => `${method}: ${device}`).join(', ')
    const error = new CredentialRefused(
      'FORBIDDEN',
      'disagreeing',
      `the credentials are of different devices (${whose})`,
    )
    note(found[0]?.method ?? 'open', request, error)
    return error
  }

  return {
    challenge: asked.map((method) => expected[method].challenge).join(', '),
    passwordChallenge: asked
      .map((method) => (method === 'token' ? 'Basic realm="rollcall"' : expected[method].challenge))
      .join(', '),
    async authenticate(request, body, { takesPassword = false } = {}) {
      const found: DeviceIdentity[] = []
      for (const [method, identify] of ways) {
        const identity = await ask(method, identify, { request, body, takesPassword })
        if (identity) found.push(identity)
      }
      const [first] = found
      if (first) {
        if (found.some(({ device }) => device !== first.device)) throw disagreeing(request, found)
        return { ...first, proof: found.find(({ proof }) => proof !== null)?.proof ?? null }
      }
      if (isOpen) return anybody
      const error = new CredentialRefused('UNAUTHENTICATED', 'missing', missing)
      if (!takesPassword) note(asked[0] ?? 'open', request, error)
      throw error
    },
    noteStranger: ({ method, device }, request, message) =>
      refused({ method, request, reason: 'not-its-own', message, device }),
  }
}

function createMethod(
  { config, database, writer, publicUrl = null, isTrusted = () => false, clock = Date.now }: DeviceAuthDeps,
  method: Exclude<DeviceAuthMethod, 'open'>,
): Identify {
  const { jwt, provision } = config
  const admit = createAdmission({ database, writer, provision })
  switch (method) {
    case 'token':
      return createTokenMethod({ database, admit, jwt, clock })
    case 'signature':
      return createSignatureMethod({ database, config: config.signature, publicUrl, clock })
    case 'mtls':
      return createCertificateMethod({ database, config: config.certificate, admit, isTrusted, clock })
  }
}
