/** Devices' statements about themselves and not about a deployment. They are not changes of the feed, but each is a sign of life. */
import { DomainError } from '../../domain/errors.ts'
import type { Millis } from '../../domain/values.ts'
import { type SentCapabilities, saveCapabilities, saveOnboarding } from '../../store/write/save/save-profile.ts'
import { replaceRepositoryToken } from '../../store/write/tokens.ts'
import type { Command, SmallCommand } from '../command.ts'
import { ensureChild, newParent, parentName, refuseEnded, refuseStrangers, requireDevice } from '../devices.ts'
import { hearKnown } from './connectivity.ts'

interface Introduced {
  readonly key: number
  readonly at: Millis
}

/**
 * `caller`: the device of the credential. Null: no credential was required. `repositoryToken`: the hash of the token that opens its
 * repository; null: it gets none.
 */
export function onboardDevice(
  device: string,
  caller: string | null,
  repositoryToken: string | null,
): Command<Introduced> {
  return {
    ...introduce(device, device, caller),
    statements: ({ key, at }) => [
      saveOnboarding(key, at),
      ...(repositoryToken === null ? [] : replaceRepositoryToken(repositoryToken, key)),
    ],
  }
}

/** Revokes the device until it is registered again. */
export function offboardDevice(device: string): Command<Introduced> {
  const { needs, decide } = introduce(device, device, device)
  return {
    needs,
    decide(work) {
      const introduced = decide(work)
      const target = requireDevice(work, device)
      work.putTarget({ ...target, revokedAt: work.now }, 'changed')
      return introduced
    },
    statements: ({ key }) => [saveOnboarding(key, null)],
  }
}

/** `reporter` reports it about itself, or about a device behind it. */
export function recordCapabilities(
  device: string,
  reporter: string,
  caller: string | null,
  sent: SentCapabilities,
): Command<Introduced> {
  return {
    ...introduce(device, reporter, caller),
    statements: ({ key, at }) => [saveCapabilities(key, at, sent)],
  }
}

export function forgetCapabilities(device: string, reporter: string, caller: string | null): Command<Introduced> {
  const { needs, decide } = introduce(device, reporter, caller)
  return {
    needs,
    decide(work) {
      if (!work.device(device)) throw new DomainError('NOT_FOUND', `there is no device ${device}`)
      return decide(work)
    },
    statements: ({ key, at }) => [saveCapabilities(key, at, null)],
  }
}

function introduce(device: string, reporter: string, caller: string | null): SmallCommand<Introduced> {
  const parent = parentName(device)
  return {
    needs: {
      devices: [device, reporter, ...(parent ? [parent] : []), ...(caller === null ? [] : [caller])],
      ...(caller !== null && { ancestors: true }),
    },
    decide(work) {
      if (caller !== null) refuseStrangers(work, caller, [reporter, device])
      refuseEnded(work.device(reporter), work.device(device), caller === null ? null : work.device(caller))
      if (parent) refuseEnded(newParent(work, device, parent))
      const { key } = parent ? ensureChild(work, device, parent) : work.ensureDevice(device)
      hearKnown(work, caller ?? reporter)
      return { key, at: work.now }
    },
  }
}
