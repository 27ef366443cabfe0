/** Identifies the device of a request by its credential, or, without device authentication, by the name in the path. */
import type { Asking, DeviceAuth, DeviceIdentity } from '../auth/devices/device-auth.ts'
import type { Presented } from '../auth/devices/presented.ts'
import { manifestOwner } from '../domain/desired.ts'
import { DomainError } from '../domain/errors.ts'
import type { Admission } from '../limits/admission.ts'
import type { Exchange } from './exchange.ts'

export interface CallerDeps {
  readonly devices: DeviceAuth
  readonly admission: Pick<Admission, 'admitDevice'>
}

/** Throws the error of a refused credential. Adds WWW-Authenticate to a 401. */
export async function authenticate(
  { devices }: Pick<CallerDeps, 'devices'>,
  { request, response }: Exchange,
  body: Presented['body'],
  asking: Asking = {},
): Promise<DeviceIdentity> {
  const challenge = asking.takesPassword ? devices.passwordChallenge : devices.challenge
  try {
    return await devices.authenticate(request, body, asking)
  } catch (refusal) {
    if (refusal instanceof DomainError && refusal.code === 'UNAUTHENTICATED' && challenge)
      response.setHeader('www-authenticate', challenge)
    throw refusal
  }
}

/** Runs `work` unless a copy of the request runs or ran it. */
export async function claim<T>(
  { devices }: Pick<CallerDeps, 'devices'>,
  { request, response }: Exchange,
  identity: DeviceIdentity,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await devices.claim(identity, request, work)
  } catch (refusal) {
    if (refusal instanceof DomainError && refusal.code === 'UNAUTHENTICATED' && devices.challenge)
      response.setHeader('www-authenticate', devices.challenge)
    throw refusal
  }
}

/** For requests without a body. */
export const emptyBody: Presented['body'] = async () => new Uint8Array()

/** The client whose desired state the caller may read: its own only. `named`: the client in the path. */
export async function requireClient(
  deps: CallerDeps,
  exchange: Exchange,
  named: string | null,
  body = emptyBody,
  asking: Asking = {},
): Promise<string> {
  const identity = await authenticate(deps, exchange, body, asking)
  const client = named ?? identity.device
  // An empty manifest would make a client remove all its deployments, so an unidentified client is refused.
  if (client === null)
    throw new DomainError(
      'INVALID_REQUEST',
      'the client is not identified: send a credential, or name the client, as in /api/v1/clients/{clientId}/deployments',
    )
  if (identity.device !== null && identity.device !== client) {
    const message = `the credential is that of ${identity.device}: it cannot read the desired state of ${client}`
    deps.devices.noteStranger(identity, exchange.request, message)
    throw new DomainError('FORBIDDEN', message)
  }
  requireOwner(client)
  deps.admission.admitDevice(client)
  return client
}

export function requireOwner(client: string): void {
  const owner = manifestOwner(client)
  if (owner !== client)
    throw new DomainError('FORBIDDEN', `what ${client} should run is in the manifest of ${owner}, which fetches it`)
}
