/**
 * Identifies reporting devices. Each method of DEVICE_AUTH looks for its kind of credential in the request.
 *
 *   no credential       ──▶ anonymous, if DEVICE_AUTH has open; otherwise refused (401)
 *   one credential      ──▶ its device, or refused: an invalid credential never counts as none, even if DEVICE_AUTH has open
 *   several credentials ──▶ all must be valid and of one device
 *
 * The writer decides what the device may report, under its lock (ingest/devices.ts).
 */
import type { IncomingMessage } from 'node:http'
import type { DeviceAuthMethod, RefusalReason } from '../../../domain/refusal-reasons.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Database } from '../../../store/database.ts'
import type { Proof } from '../../../store/signature-claims.ts'
import { type CertificateConfig, createCertificateMethod } from './certificates.ts'
import { createClaiming } from './claims.ts'
import type { Identify, Presented } from './presented.ts'
import { createAdmission } from './provisioning.ts'
import { CredentialRefused } from './refusal.ts'
import { createSignatureMethod, type SignatureConfig } from './signatures.ts'
import { createTokenMethod, type DeviceJwtConfig } from './tokens.ts'
import type { Trust } from './trust.ts'

export interface DeviceAuthConfig {
  readonly methods: readonly DeviceAuthMethod[]
  /** Whether a device with a valid token or certificate of a trusted issuer may report without registration. */
  readonly provision: boolean
  /** Null: only tokens that this server issued are accepted. */
  readonly jwt: DeviceJwtConfig | null
  readonly signature: SignatureConfig
  readonly certificate: CertificateConfig
}

export interface DeviceIdentity {
  /** The device or client of the credential. Null: the request is anonymous. */
  readonly device: string | null
  readonly method: DeviceAuthMethod
  /** Proof that a signed message is used once: its report spends the proof. Null: the method has none. */
  readonly proof: Proof | null
}

export interface Refused {
  readonly method: DeviceAuthMethod
  readonly reason: RefusalReason
  readonly message: string
  /** The device of the credential, if it is certain. */
  readonly device: string | null
  readonly request: IncomingMessage
}

export interface DeviceAuth {
  /** Throws CredentialRefused (INVALID_REQUEST, UNAUTHENTICATED, FORBIDDEN, DEVICE_RETIRED), or UNAVAILABLE. */
  authenticate(request: IncomingMessage, body: Presented['body'], asking?: Asking): Promise<DeviceIdentity>
  /** Runs `work`, which spends the proof. Throws CredentialRefused or UNAVAILABLE if a copy of the message was or is executed. */
  claim<T>(identity: DeviceIdentity, request: IncomingMessage, work: () => Promise<T>): Promise<T>
  /** Records in the log and the metrics that a valid credential was used for another device. */
  noteStranger(identity: DeviceIdentity, request: IncomingMessage, message: string): void
  /** The WWW-Authenticate header of a 401. */
  readonly challenge: string
  /** The same for routes that accept a token as a password. */
  readonly passwordChallenge: string
}

/** `takesPassword`: the client sends no credential before a 401, so a missing credential is not recorded as refused. */
export type Asking = Pick<Presented, 'takesPassword'>

export interface DeviceAuthDeps {
  readonly config: DeviceAuthConfig
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  /** In an identity service. */
  readonly trust?: Trust | null
  /** The public URL of this server. Null: the Host of the request. */
  readonly publicUrl?: string | null
  /** Whether the peer is a trusted proxy, whose headers are used. */
  readonly isTrusted?: (request: IncomingMessage) => boolean
  readonly clock: () => number
  /** Whose credentials they are. Absent: of devices. */
  readonly kind?: 'DEVICE' | 'SITE'
  /** Receives every refused credential. */
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
  const claiming = createClaiming(deps.database)
  const isOpen = config.methods.includes('open')
  const asked = config.methods.filter((method) => method !== 'open')
  const identifiers = new Map<DeviceAuthMethod, Identify>(asked.map((method) => [method, createMethod(deps, method)]))
  if (asked.includes('signature') && !identifiers.has('token'))
    identifiers.set('token', createMethod(deps, 'token', { repositoryOnly: true }))
  const anonymous: DeviceIdentity = { device: null, method: 'open', proof: null }
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
    const devices = found.map(({ device, method }) => `${method}: ${device}`).join(', ')
    const error = new CredentialRefused(
      'FORBIDDEN',
      'disagreeing',
      `the credentials are of different devices (${devices})`,
    )
    note(found[0]?.method ?? 'open', request, error)
    return error
  }

  return {
    challenge: asked.map((method) => expected[method].challenge).join(', '),
    passwordChallenge: [
      ...(identifiers.has('token') ? ['Basic realm="rollcall"'] : []),
      ...asked.filter((method) => method !== 'token').map((method) => expected[method].challenge),
    ].join(', '),
    async authenticate(request, body, { takesPassword = false } = {}) {
      const found: DeviceIdentity[] = []
      for (const [method, identify] of identifiers) {
        const identity = await ask(method, identify, { request, body, takesPassword })
        if (identity) found.push(identity)
      }
      const [first] = found
      if (first) {
        if (found.some(({ device }) => device !== first.device)) throw disagreeing(request, found)
        return { ...first, proof: found.find(({ proof }) => proof !== null)?.proof ?? null }
      }
      if (isOpen) return anonymous
      const error = new CredentialRefused('UNAUTHENTICATED', 'missing', missing)
      if (!takesPassword) note(asked[0] ?? 'open', request, error)
      throw error
    },
    async claim({ method, proof }, request, work) {
      if (proof === null) return work()
      let isOurs = false
      try {
        return await claiming(proof, () => {
          isOurs = true
          return work()
        })
      } catch (error) {
        if (!isOurs) note(method, request, error)
        throw error
      }
    },
    noteStranger: ({ method, device }, request, message) =>
      refused({ method, request, reason: 'not-its-own', message, device }),
  }
}

function createMethod(
  {
    config,
    database,
    writer,
    trust = null,
    publicUrl = null,
    isTrusted = () => false,
    clock,
    kind = 'DEVICE',
  }: DeviceAuthDeps,
  method: Exclude<DeviceAuthMethod, 'open'>,
  { repositoryOnly = false } = {},
): Identify {
  const { jwt, provision, certificate } = config
  const admission = { database, writer, provision, needsId: trust?.hasManyDomains }
  const admit = createAdmission(admission)
  switch (method) {
    case 'token':
      return createTokenMethod({ database, admit, jwt: repositoryOnly ? null : jwt, clock, repositoryOnly, kind })
    case 'signature':
      return createSignatureMethod({ database, config: config.signature, publicUrl, clock })
    case 'mtls': {
      const admitListed = createAdmission({ ...admission, provision: true })
      return createCertificateMethod({ database, config: certificate, admit, admitListed, trust, isTrusted, clock })
    }
  }
}
