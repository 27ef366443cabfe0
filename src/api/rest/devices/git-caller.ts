/** Access to desired state over Git: the device itself, or an API key that may read all documents. */

import { DomainError } from '../../../domain/errors.ts'
import { describeAccess, may } from '../../../domain/principal.ts'
import type { Heartbeats } from '../../../ingest/heartbeats.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import { type ManifestTip, requireTip } from '../../../store/read/desired/manifest-tips.ts'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import { tokenOf } from '../../auth/api/credentials.ts'
import type { Lookup } from '../../auth/devices/lookup.ts'
import type { Presented } from '../../auth/devices/presented.ts'
import { passwordIn } from '../../auth/password.ts'
import type { Exchange } from '../exchange.ts'
import { type CallerDeps, requireClient, requireOwner } from './device-caller.ts'

export interface GitCallerDeps extends CallerDeps {
  readonly auth: Pick<ApiAuth, 'identify' | 'takesKeys' | 'isKey'>
  readonly admission: Pick<Admission, 'admitDevice' | 'addresses'>
  readonly heartbeats: Heartbeats
  readonly findTip: Lookup<ManifestTip>
}

const asking = { takesPassword: true }

/** The access of an API key. A repository contains all documents of its device. */
const access = 'operator of all'

export async function requireReader(
  deps: GitCallerDeps,
  exchange: Exchange,
  device: string,
  body: Presented['body'],
): Promise<void> {
  try {
    if (await hasKey(deps, exchange)) return requireOwner(device)
    await requireClient(deps, exchange, device, body, asking)
  } catch (refusal) {
    throw refusal instanceof DomainError && refusal.code === 'UNAUTHENTICATED'
      ? challenge(deps, exchange, refusal)
      : refusal
  }
  deps.heartbeats.note(device, requireTip(device, await deps.findTip(device)))
}

/** Whether the request has a valid API key. Throws for an invalid one. */
async function hasKey({ auth, admission }: GitCallerDeps, { request }: Exchange): Promise<boolean> {
  const token = tokenOf(request) ?? passwordIn(request.headers.authorization)
  if (token === null || !auth.isKey(token)) return false
  const principal = await auth.identify({ token, cookie: null, address: admission.addresses.of(request) })
  if (!may(principal, access)) throw new DomainError('FORBIDDEN', `this needs ${describeAccess(access)}`)
  return true
}

/** Adds the challenge to a 401. If no method accepts a password, Git receives a 403 instead: a 401 would make Git prompt for a password. */
function challenge(
  { devices, auth }: GitCallerDeps,
  { request, response }: Exchange,
  refusal: DomainError,
): DomainError {
  const basic = 'Basic realm="rollcall"'
  const known = devices.passwordChallenge
  const helps = auth.takesKeys || known.includes(basic)
  if (!helps && isGit(request.headers)) return new DomainError('FORBIDDEN', refusal.message, { cause: refusal })
  const challenges = known.includes(basic) || !helps ? [known] : [basic, known]
  response.setHeader('www-authenticate', challenges.filter((one) => one !== '').join(', '))
  return refusal
}

/** Whether the client is Git itself. */
export function isGit(headers: { readonly 'user-agent'?: string | undefined }): boolean {
  return headers['user-agent']?.startsWith('git/') ?? false
}
