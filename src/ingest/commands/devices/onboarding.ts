/** Devices onboard and offboard. */
import { saveOnboarding } from '../../../store/write/save/save-profile.ts'
import { replaceRepositoryToken } from '../../../store/write/tokens.ts'
import type { Command } from '../../command.ts'
import { requireDevice } from '../../devices.ts'
import { type Contact, contactOf } from './device-contact.ts'

/** `repositoryToken`: the hash of the token that opens its repository. Null: it gets none. */
export function onboardDevice(device: string, caller: string | null, repositoryToken: string | null): Command<Contact> {
  return {
    ...contactOf(device, device, caller),
    statements: ({ key, at }) => [
      saveOnboarding(key, at),
      ...(repositoryToken === null ? [] : replaceRepositoryToken(repositoryToken, key)),
    ],
  }
}

/** Revokes the device until it is registered again. */
export function offboardDevice(device: string): Command<Contact> {
  const { needs, decide } = contactOf(device, device, device)
  return {
    needs,
    decide(work) {
      const contact = decide(work)
      const target = requireDevice(work, device)
      work.putTarget({ ...target, revokedAt: work.now }, 'changed')
      return contact
    },
    statements: ({ key }) => [saveOnboarding(key, null)],
  }
}
