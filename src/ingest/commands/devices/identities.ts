/** The public keys and SPIFFE ids of devices that are registered: one device holds each. */
import { DomainError } from '../../../domain/errors.ts'
import { eachPaced, type Paced } from '../../../platform/limits/pace.ts'
import type { NewIdentity } from '../../../store/write/tokens.ts'
import { isEnded } from '../../devices.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'

export interface IdentityHolder {
  readonly deviceId: string
  /** The keys that the device signs its messages with. Null: stay as they are. */
  readonly publicKeys?: readonly NewIdentity[] | null
  readonly spiffeIds?: readonly string[] | null
}

/**
 * The device that holds each identity afterwards. Null: none. In order: a later device may take an identity that an earlier one gave up.
 * Decided before any device is registered, because a refused command must not register some of them. `returning`: all devices of the command.
 */
export function* assignIdentities(
  work: UnitOfWork,
  devices: readonly IdentityHolder[],
  first: number,
  returning: ReadonlySet<string>,
): Paced<ReadonlyMap<string, string | null>> {
  const before = Map.groupBy(devices.flatMap(identitiesOf), (id) => work.holderOf(id)?.name)
  const holders = new Map<string, string | null>()
  yield* eachPaced(devices, (device, index) => {
    const { deviceId } = device
    const known = work.device(deviceId)
    const lists = identitiesToStore(device, known !== null && isEnded(known))
    for (const id of before.get(deviceId) ?? [])
      if ((isSpiffeId(id) ? lists.spiffeIds : lists.publicKeys) !== null) holders.set(id, null)
    for (const id of identitiesOf(device)) {
      const given = holders.get(id)
      const holder = given === undefined ? (work.holderOf(id)?.name ?? null) : given
      if (holder !== null && holder !== deviceId && isKept(work, holder, returning))
        throw heldByAnother(id, holder, `devices[${first + index}]`)
      holders.set(id, deviceId)
    }
  })
  return holders
}

/** A replacement may take the identities of a retired device that does not return. */
function isKept(work: UnitOfWork, holder: string, returning: ReadonlySet<string>): boolean {
  return returning.has(holder) || (work.device(holder)?.retiredAt ?? null) === null
}

export function identitiesOf({ publicKeys, spiffeIds }: IdentityHolder): string[] {
  return [...(publicKeys ?? []).map(({ id }) => id), ...(spiffeIds ?? [])]
}

/** Null: stay as they are. Those of a device that was revoked or retired never stay, so that they do not become valid again. */
export function identitiesToStore({ publicKeys, spiffeIds }: IdentityHolder, wasEnded: boolean) {
  const none = wasEnded ? [] : null
  return { publicKeys: publicKeys ?? none, spiffeIds: spiffeIds ?? none }
}

export function spiffeIdentity(id: string): NewIdentity {
  return { id, publicKey: null }
}

function isSpiffeId(identity: string): boolean {
  return identity.startsWith('spiffe:')
}

function heldByAnother(id: string, holder: string, at: string): DomainError {
  const [what, field] = isSpiffeId(id) ? ['the SPIFFE id', 'spiffeIds'] : ['the public key', 'publicKeys']
  const message = `${what} ${id} is that of device ${holder}: take it from there first`
  return new DomainError('CONFLICT', message, { problems: [{ field: `${at}.${field}`, message }] })
}
