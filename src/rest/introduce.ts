/**
 * Where devices say that they are there, and what they can run. Neither is a way in: whoever needs a credential elsewhere needs it here,
 * and gets none.
 */
import { X509Certificate } from 'node:crypto'
import type { DeviceIdentity } from '../auth/devices/device-auth.ts'
import { keyIdOf } from '../auth/devices/public-key.ts'
import { clientOf, spiffeIdOf } from '../auth/devices/spiffe.ts'
import type { DeviceRoute } from '../dialects/margo/device-routes.ts'
import { parseCapabilities, parseOnboarding } from '../dialects/margo/introduction.ts'
import { parseJson } from '../dialects/margo/json.ts'
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
  /** Where Git finds what a device should run; null: there is no Git here. */
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

/** Whom to trust for our own certificate. Whoever asks for that without being certain of us yet does so at his own risk. */
async function sendAuthority({ tls }: IntroduceDeps, exchange: Exchange): Promise<void> {
  const authority = tls ? authorityOf(tls.files().cert) : null
  if (authority === null)
    throw new DomainError('NOT_FOUND', 'there is no certificate of an authority above that of this server (TLS_CERT)')
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
      `the certificate is of a key of another device than ${device}, whose credential it came with`,
    )
  const clientId = device ?? holder ?? (certificate && nameOf(certificate))
  if (clientId === null)
    throw new DomainError(
      'INVALID_REQUEST',
      'certificate is missing: it is what a client is known by that shows no credential',
    )
  deps.admission.admitDevice(clientId)
  const url = deps.repositoryOf(clientId)
  // Git's clients show certificates and tokens, but cannot sign. A device token would do, but could report as well: a secret that Git keeps in a
  // file should not be able to do what the device's key is for.
  const issued =
    url !== null && caller.method === 'signature' && manifestOwner(clientId) === clientId ? newRepositoryToken() : null
  await submit(deps, exchange, caller, onboardDevice(clientId, device, issued?.hash ?? null))
  // The token that the request came with opens its repository too: another would be one more to lose.
  const token = issued?.text ?? (caller.method === 'token' ? bearerOf(exchange) : null)
  const repository = url === null ? null : { url, ...(token !== null && { token }) }
  const said = JSON.stringify({ clientId, ...(repository && { repository }) })
  answer(exchange, 201, 'application/json', said, { 'cache-control': 'no-store' })
}

function bearerOf({ request }: Exchange): string | null {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

/** A device leaves: nothing that it shows is good from now on. Only with its own credential, or anybody could send it away. */
async function offboard(deps: IntroduceDeps, exchange: Exchange): Promise<void> {
  const caller = await authenticate(deps, exchange, lazyBody(exchange, bodyLimit))
  const { device } = caller
  if (device === null)
    throw new DomainError('UNAUTHENTICATED', 'offboarding needs a credential of the device: it ends that')
  deps.admission.admitDevice(device)
  await submit(deps, exchange, caller, offboardDevice(device))
  exchange.response.writeHead(204).end()
}

interface Certified {
  readonly names: string | undefined
  readonly keyId: string
}

/** In base64, of the bytes or of the text that others have of it (PEM), or that text. */
function readCertificate(text: string): Certified {
  try {
    const certificate = new X509Certificate(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
    return { names: certificate.subjectAltName, keyId: keyIdOf(certificate.publicKey) }
  } catch (cause) {
    throw new DomainError('INVALID_REQUEST', 'certificate must be an X.509 certificate in base64', { cause })
  }
}

/** Whose registered key it is of. */
async function holderOf({ database }: IntroduceDeps, { keyId }: Certified): Promise<string | null> {
  return (await findIdentities(database.session, [keyId])).get(keyId)?.device ?? null
}

/** Where nobody is asked for more: what Margo calls the client in its certificate, else the key that only it has. */
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
      `${parent} has not said yet what it can run: a gateway does so before what is behind it`,
    )
  const isNew = route.era !== '1.0.0-rc.3' || !(await hasCapabilities(session, device))
  const sent = { text: body.toString().replace(/^\uFEFF/, ''), generation: `margo/${route.era}`, labels }
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
