/** Who may be told over Git what a device should run: the device itself, or, with a key to the API, whoever may read documents. */
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { tokenOf } from '../auth/api/credentials.ts'
import type { Lookup } from '../auth/devices/lookup.ts'
import type { Presented } from '../auth/devices/presented.ts'
import { passwordIn } from '../auth/password.ts'
import { DomainError } from '../domain/errors.ts'
import { describeAccess, may } from '../domain/principal.ts'
import type { Heartbeats } from '../ingest/heartbeats.ts'
import type { Admission } from '../limits/admission.ts'
import { type ManifestTip, requireTip } from '../store/read/manifest-tips.ts'
import { type CallerDeps, requireClient, requireOwner } from './device-caller.ts'
import type { Exchange } from './exchange.ts'

export interface GitCallerDeps extends CallerDeps {
  readonly auth: Pick<ApiAuth, 'identify' | 'takesKeys' | 'isKey'>
  readonly admission: Pick<Admission, 'admitDevice' | 'addresses'>
  readonly heartbeats: Heartbeats
  readonly findTip: Lookup<ManifestTip>
}

const asking = { takesPassword: true }

/** A repository has all documents of its device. */
const access = 'operator of all'

export async function requireReader(
  deps: GitCallerDeps,
  exchange: Exchange,
  device: string,
  body: Presented['body'],
): Promise<void> {
  try {
    if (await showsKey(deps, exchange)) return requireOwner(device)
    await requireClient(deps, exchange, device, body, asking)
  } catch (refusal) {
    throw refusal instanceof DomainError && refusal.code === 'UNAUTHENTICATED' ? ask(deps, exchange, refusal) : refusal
  }
  deps.heartbeats.note(device, requireTip(device, await deps.findTip(device)))
}

/** Whether it came with a key, and a good one. */
async function showsKey({ auth, admission }: GitCallerDeps, { request }: Exchange): Promise<boolean> {
  const token = tokenOf(request) ?? passwordIn(request.headers.authorization)
  if (token === null || !auth.isKey(token)) return false
  const principal = await auth.identify({ token, cookie: null, address: admission.addresses.of(request) })
  if (!may(principal, access)) throw new DomainError('FORBIDDEN', `this needs ${describeAccess(access)}`)
  return true
}

/** Where no password would help, Git is not made to ask for one: it shows its user what is missing. */
function ask({ devices, auth }: GitCallerDeps, { request, response }: Exchange, refusal: DomainError): DomainError {
  const basic = 'Basic realm="rollcall"'
  const known = devices.passwordChallenge
  const helps = auth.takesKeys || known.includes(basic)
  if (!helps && isGit(request.headers)) return new DomainError('FORBIDDEN', refusal.message, { cause: refusal })
  const challenges = known.includes(basic) || !helps ? [known] : [basic, known]
  response.setHeader('www-authenticate', challenges.filter((one) => one !== '').join(', '))
  return refusal
}

/** Its own client. */
export function isGit(headers: { readonly 'user-agent'?: string | undefined }): boolean {
  return headers['user-agent']?.startsWith('git/') ?? false
}
