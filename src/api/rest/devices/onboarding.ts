/** Onboarding of devices. It grants no access: it requires the same credential as all routes, and issues none for reports. */
import { X509Certificate } from 'node:crypto'
import { manifestOwner } from '../../../domain/desired.ts'
import { DomainError } from '../../../domain/errors.ts'
import { offboardDevice, onboardDevice } from '../../../ingest/commands/devices/onboarding.ts'
import { newRepositoryToken } from '../../../ingest/device-token.ts'
import type { DeviceMethod } from '../../../ingest/dialects/devices.ts'
import type { Database } from '../../../store/database.ts'
import { findIdentities } from '../../../store/read/device-credentials.ts'
import { keyIdOf } from '../../auth/devices/public-key.ts'
import { clientOf, spiffeIdOf } from '../../auth/devices/spiffe.ts'
import { answer, decodeBody, type Exchange, lazyBody, requireMediaType } from '../exchange.ts'
import { authenticate, ignoredLimit, type SubmitDeps, submitFor } from './device-caller.ts'
import { noteDeviations, type RecordDeps } from './record-report.ts'

export interface OnboardingDeps extends SubmitDeps, Pick<RecordDeps, 'metrics'> {
  readonly database: Pick<Database, 'session'>
  /** The URL of a device's Git repository. Null: Git is not available. */
  readonly repositoryOf: (device: string) => string | null
}

export async function takeOnboarding(
  deps: OnboardingDeps,
  exchange: Exchange,
  { body: rule, readCertificate: readSent }: Extract<DeviceMethod, { does: 'onboard' }>,
): Promise<void> {
  requireMediaType(exchange.request, rule.media)
  const read = lazyBody(exchange, rule.limit)
  const caller = await authenticate(deps, exchange, read)
  const body = await decodeBody(exchange, await read(), rule.limit)
  const { device } = caller
  const { certificate: sent, deviations } = readSent(await rule.parse(body))
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
  await submitFor(deps, exchange, caller, onboardDevice(clientId, device, issued?.hash ?? null))
  await noteDeviations(deps, clientId, deviations)
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
export async function offboard(deps: OnboardingDeps, exchange: Exchange): Promise<void> {
  const caller = await authenticate(deps, exchange, lazyBody(exchange, ignoredLimit))
  const { device } = caller
  if (device === null)
    throw new DomainError('UNAUTHENTICATED', 'offboarding needs the credential of the device, which it revokes')
  deps.admission.admitDevice(device)
  await submitFor(deps, exchange, caller, offboardDevice(device))
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
async function holderOf({ database }: OnboardingDeps, { keyId }: Certified): Promise<string | null> {
  return (await findIdentities(database.session, [keyId])).get(keyId)?.device ?? null
}

/** The name of a client without a credential: the client id in the certificate's SPIFFE id, otherwise the id of its key. */
function nameOf({ names, keyId }: Certified): string {
  const spiffeId = spiffeIdOf(names)
  return (spiffeId && clientOf(spiffeId)) ?? keyId
}
