/** Identifies the device of a request by its credential, or, without device authentication, by the name in the path. */
import type { ServerResponse } from 'node:http'
import { manifestOwner } from '../../../domain/desired.ts'
import { DomainError } from '../../../domain/errors.ts'
import { type Command, spending } from '../../../ingest/command.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import type { Asking, DeviceAuth, DeviceIdentity } from '../../auth/devices/device-auth.ts'
import type { Presented } from '../../auth/devices/presented.ts'
import type { Exchange } from '../exchange.ts'

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
  return withChallenge(response, challenge, () => devices.authenticate(request, body, asking))
}

/** Runs `work` unless a copy of the request runs or ran it. */
export async function claim<T>(
  { devices }: Pick<CallerDeps, 'devices'>,
  { request, response }: Exchange,
  identity: DeviceIdentity,
  work: () => Promise<T>,
): Promise<T> {
  return withChallenge(response, devices.challenge, () => devices.claim(identity, request, work))
}

async function withChallenge<T>(response: ServerResponse, challenge: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (refusal) {
    if (refusal instanceof DomainError && refusal.code === 'UNAUTHENTICATED' && challenge)
      response.setHeader('www-authenticate', challenge)
    throw refusal
  }
}

export interface SubmitDeps extends CallerDeps {
  readonly writer: Pick<Writer, 'submit'>
}

/** Writes a command of the caller, once for its signed message. */
export async function submitFor(
  deps: SubmitDeps,
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

/** Bytes of a body that only its signature needs. */
export const ignoredLimit = 256 << 10

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
