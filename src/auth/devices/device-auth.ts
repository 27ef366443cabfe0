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
import type { Writer } from '../../ingest/writer.ts'
import type { Database } from '../../store/database.ts'
import type { Proof } from '../../store/signature-claims.ts'
import { type CertificateConfig, createCertificateMethod } from './certificates.ts'
import { createClaiming } from './claims.ts'
import type { Identify, Presented } from './presented.ts'
import { createAdmission } from './provisioning.ts'
import { CredentialRefused, type DeviceAuthMethod, type RefusalReason } from './refusal.ts'
import { createSignatureMethod, type SignatureConfig } from './signatures.ts'
import { createTokenMethod, type DeviceJwtConfig } from './tokens.ts'

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

export interface Refused {
  readonly method: DeviceAuthMethod
  readonly reason: RefusalReason
  readonly message: string
  /** Whose it is, where that is certain. */
  readonly device: string | null
  readonly request: IncomingMessage
}

export interface DeviceAuth {
  /** Throws CredentialRefused (INVALID_REQUEST, UNAUTHENTICATED, FORBIDDEN, DEVICE_RETIRED), or UNAVAILABLE. */
  authenticate(request: IncomingMessage, body: Presented['body'], asking?: Asking): Promise<DeviceIdentity>
  /** Does what a message asks for unless a copy of it does or did: then throws CredentialRefused or UNAVAILABLE. `work` spends the proof. */
  claim<T>(identity: DeviceIdentity, request: IncomingMessage, work: () => Promise<T>): Promise<T>
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
  readonly clock: () => number
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
  const claiming = createClaiming(deps.database)
  const isOpen = config.methods.includes('open')
  const asked = config.methods.filter((method) => method !== 'open')
  const ways = new Map<DeviceAuthMethod, Identify>(asked.map((method) => [method, createMethod(deps, method)]))
  if (asked.includes('signature') && !ways.has('token'))
    ways.set('token', createMethod(deps, 'token', { repositoryOnly: true }))
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
    passwordChallenge: [
      ...(ways.has('token') ? ['Basic realm="rollcall"'] : []),
      ...asked.filter((method) => method !== 'token').map((method) => expected[method].challenge),
    ].join(', '),
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
  { config, database, writer, publicUrl = null, isTrusted = () => false, clock }: DeviceAuthDeps,
  method: Exclude<DeviceAuthMethod, 'open'>,
  { repositoryOnly = false } = {},
): Identify {
  const { jwt, provision } = config
  const admit = createAdmission({ database, writer, provision })
  switch (method) {
    case 'token':
      return createTokenMethod({ database, admit, jwt: repositoryOnly ? null : jwt, clock, repositoryOnly })
    case 'signature':
      return createSignatureMethod({ database, config: config.signature, publicUrl, clock })
    case 'mtls':
      return createCertificateMethod({ database, config: config.certificate, admit, isTrusted, clock })
  }
}
