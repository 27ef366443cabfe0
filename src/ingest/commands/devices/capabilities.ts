/** Devices say what they can run. */
import { DomainError } from '../../../domain/errors.ts'
import { type SentCapabilities, saveCapabilities } from '../../../store/write/save/save-profile.ts'
import type { Command } from '../../command.ts'
import { type Contact, contactOf } from './device-contact.ts'

/** `reporter` sends them about itself, or about a device behind it. */
export function recordCapabilities(
  device: string,
  reporter: string,
  caller: string | null,
  sent: SentCapabilities,
): Command<Contact> {
  return {
    ...contactOf(device, reporter, caller),
    statements: ({ key, at }) => [saveCapabilities(key, at, sent)],
  }
}

export function forgetCapabilities(device: string, reporter: string, caller: string | null): Command<Contact> {
  const { needs, decide } = contactOf(device, reporter, caller)
  return {
    needs,
    decide(work) {
      if (!work.device(device)) throw new DomainError('NOT_FOUND', `there is no device ${device}`)
      return decide(work)
    },
    statements: ({ key, at }) => [saveCapabilities(key, at, null)],
  }
}
