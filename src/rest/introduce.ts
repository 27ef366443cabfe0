/**
 * Onboarding of devices and their capabilities. Neither grants access: these routes require the same credential as all others and issue none
 * for reports.
 */
import { X509Certificate } from 'node:crypto'
import type { DeviceIdentity } from '../auth/devices/device-auth.ts'
import { keyIdOf } from '../auth/devices/public-key.ts'
import { clientOf, spiffeIdOf } from '../auth/devices/spiffe.ts'
import { parseJson } from '../dialects/body/json.ts'
import type { DeviceRoute } from '../dialects/margo/device-routes.ts'
import { parseCapabilities, parseOnboarding } from '../dialects/margo/introduction.ts'
import { manifestOwner } from '../domain/desired.ts'
import { DomainError } from '../domain/errors.ts'
import type { Command } from '../ingest/command.ts'
import { spending } from '../ingest/commands/device.ts'
import { forgetCapabilities, offboardDevice, onboardDevice, recordCapabilities } from '../ingest/commands/introduce.ts'
import { newRepositoryToken } from '../ingest/device-token.ts'
import { parentName } from '../ingest/devices.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Database } from '../store/database.ts'
import { findIdentities } from '../store/read/device-credentials.ts'
import { hasCapabilities } from '../store/read/profiles.ts'
import { authenticate, type CallerDeps, claim } from './device-caller.ts'
import { answer, type Exchange, lazyBody, type Methods, requireMediaType } from './exchange.ts'
import { authorityOf } from './tls.ts'
import type { TlsWatch } from './tls-watch.ts'

export interface IntroduceDeps extends CallerDeps {
  readonly writer: Pick<Writer, 'submit'>
  readonly database: Pick<Database, 'session'>
  readonly tls?: Pick<TlsWatch, 'files'> | null
  /** The URL of a device's Git repository. Null: Git is not available. */
  readonly repositoryOf: (device: string) => string | null
}

/** Bytes. */
const bodyLimit = 256 << 10

type CapabilitiesRoute = Extract<DeviceRoute, { kind: 'capabilities' }>

export function deviceMethods(deps: IntroduceDeps, route: DeviceRoute): Methods {
  if (route.kind === 'onboarding')
    return {
      POST: { access: 'device', handle: (exchange) => takeOnboarding(deps, exchange) },
      DELETE: { access: 'device', handle: (exchange) => offboard(deps, exchange) },
    }
  if (route.kind === 'certificate')
    return { GET: { access: 'public', handle: (exchange) => sendAuthority(deps, exchange) } }
  const take = { access: 'device', handle: (exchange: Exchange) => takeCapabilities(deps, exchange, route) } as const
  const drop = { access: 'device', handle: (exchange: Exchange) => dropCapabilities(deps, exchange, route) } as const
  return { POST: take, PUT: take, ...(route.deviceId !== null && { DELETE: drop }) }
}

/** Sends the authority of the server's certificate. A client that has not verified the server yet cannot rely on the response. */
async function sendAuthority({ tls }: IntroduceDeps, exchange: Exchange): Promise<void> {
  const authority = tls ? authorityOf(tls.files().cert) : null
  if (authority === null)
    throw new DomainError('NOT_FOUND', 'TLS_CERT has no certificate of an authority above that of this server')
  const certificate = Buffer.from(authority).toString('base64')
  answer(exchange, 200, 'application/json', JSON.stringify({ certificate }))
}

async function takeOnboarding(deps: IntroduceDeps, exchange: Exchange): Promise<void> {
  requireMediaType(exchange.request, ['application/json'])
  const read = lazyBody(exchange, bodyLimit)
  const caller = await authenticate(deps, exchange, read)
  const body = await read()
  const { device } = caller
  const sent = parseOnboarding(parseJson(body))
  const certificate = sent === null ? null : readCertificate(sent)
  const holder = certificate && (await holderOf(deps, certificate))
  if (device !== null && holder !== null && holder !== device)
    throw new DomainError(
      'FORBIDDEN',
      `the key of the certificate is registered for another device than ${device}, which sent the request`,
    )
  const clientId = device ?? holder ?? (certificate && nameOf(certificate))
  if (clientId === null) throw badCertificate('is missing: it identifies a client without a credential')
  deps.admission.admitDevice(clientId)
  const url = deps.repositoryOf(clientId)
  // Git clients send certificates and tokens, but cannot sign. A device token was rejected: it could also report, and Git stores it in a file.
  const issued =
    url !== null && caller.method === 'signature' && manifestOwner(clientId) === clientId ? newRepositoryToken() : null
  await submit(deps, exchange, caller, onboardDevice(clientId, device, issued?.hash ?? null))
  // The token of the request opens the repository too. A second token would be one more secret to leak.
  const token = issued?.text ?? (caller.method === 'token' ? bearerOf(exchange) : null)
  const repository = url === null ? null : { url, ...(token !== null && { token }) }
  const response = JSON.stringify({ clientId, ...(repository && { repository }) })
  answer(exchange, 201, 'application/json', response, { 'cache-control': 'no-store' })
}

function bearerOf({ request }: Exchange): string | null {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

/** Ends all credentials of a device. It requires a credential of the device, because otherwise any client could offboard it. */
async function offboard(deps: IntroduceDeps, exchange: Exchange): Promise<void> {
  const caller = await authenticate(deps, exchange, lazyBody(exchange, bodyLimit))
  const { device } = caller
  if (device === null)
    throw new DomainError('UNAUTHENTICATED', 'offboarding needs the credential of the device, which it revokes')
  deps.admission.admitDevice(device)
  await submit(deps, exchange, caller, offboardDevice(device))
  exchange.response.writeHead(204).end()
}

interface Certified {
  readonly names: string | undefined
  readonly keyId: string
}

/** Reads base64 of DER, base64 of PEM, or PEM. */
function readCertificate(text: string): Certified {
  try {
    const certificate = new X509Certificate(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
    return { names: certificate.subjectAltName, keyId: keyIdOf(certificate.publicKey) }
  } catch (cause) {
    throw badCertificate('must be an X.509 certificate in base64', cause)
  }
}

function badCertificate(message: string, cause?: unknown): DomainError {
  const problems = [{ field: 'certificate', message }]
  return new DomainError('INVALID_REQUEST', `certificate ${message}`, { cause, problems })
}

/** The device that has registered the key of the certificate. */
async function holderOf({ database }: IntroduceDeps, { keyId }: Certified): Promise<string | null> {
  return (await findIdentities(database.session, [keyId])).get(keyId)?.device ?? null
}

/** The name of a client without a credential: the client id in the certificate's SPIFFE id, otherwise the id of its key. */
function nameOf({ names, keyId }: Certified): string {
  const spiffeId = spiffeIdOf(names)
  return (spiffeId && clientOf(spiffeId)) ?? keyId
}

async function takeCapabilities(deps: IntroduceDeps, exchange: Exchange, route: CapabilitiesRoute): Promise<void> {
  requireMediaType(exchange.request, ['application/json'])
  const read = lazyBody(exchange, bodyLimit)
  const caller = await authenticate(deps, exchange, read)
  const body = await read()
  const { id, labels } = parseCapabilities(parseJson(body), route.deviceId)
  const device = route.deviceId ?? route.reporter ?? caller.device ?? id
  const reporter = route.reporter ?? caller.device ?? device
  deps.admission.admitDevice(caller.device ?? reporter)
  const { session } = deps.database
  const parent = route.deviceId === null ? null : parentName(device)
  if (parent !== null && !(await hasCapabilities(session, parent)))
    throw new DomainError(
      'NOT_FOUND_YET',
      `${parent} has not sent its capabilities yet: a gateway sends them before the devices behind it`,
    )
  const isNew = route.generation !== '1.0.0-rc.3' || !(await hasCapabilities(session, device))
  const sent = { text: body.toString().replace(/^\uFEFF/, ''), generation: `margo/${route.generation}`, labels }
  await submit(deps, exchange, caller, recordCapabilities(device, reporter, caller.device, sent))
  answer(exchange, isNew ? 201 : 200, 'application/json', '{"acknowledgement":"received"}')
}

async function dropCapabilities(deps: IntroduceDeps, exchange: Exchange, route: CapabilitiesRoute): Promise<void> {
  const caller = await authenticate(deps, exchange, lazyBody(exchange, bodyLimit))
  const device = route.deviceId ?? ''
  const reporter = route.reporter ?? caller.device ?? device
  deps.admission.admitDevice(caller.device ?? reporter)
  await submit(deps, exchange, caller, forgetCapabilities(device, reporter, caller.device))
  exchange.response.writeHead(204).end()
}

async function submit(
  deps: IntroduceDeps,
  exchange: Exchange,
  caller: DeviceIdentity,
  command: Command<unknown>,
): Promise<void> {
  const { writer, devices } = deps
  await claim(deps, exchange, caller, () => writer.submit(spending(command, caller.proof))).catch((error: unknown) => {
    if (caller.device !== null && error instanceof DomainError && error.code === 'FORBIDDEN')
      devices.noteStranger(caller, exchange.request, error.message)
    throw error
  })
}
