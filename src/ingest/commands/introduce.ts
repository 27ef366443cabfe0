/** What devices say of themselves rather than of a deployment: none of it is a change of the feed, all of it is a sign of life. */
import type { Millis } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import { type SentCapabilities, saveCapabilities, saveOnboarding } from '../../store/save-profile.ts'
import type { Command } from '../command.ts'
import { ensureChild, parentName } from '../devices.ts'
import { hearKnown, refuseRevoked, refuseStrangers } from './report.ts'

interface Introduced {
  readonly key: number
  readonly at: Millis
}

/** `caller`: whose credential it was sent with; null: nobody was asked. */
export function onboardDevice(device: string, caller: string | null): Command<Introduced> {
  return {
    ...introduce(device, device, caller),
    also: ({ key, at }) => [saveOnboarding(key, at)],
  }
}

/** `reporter` says it of itself, or of a device behind it. */
export function recordCapabilities(
  device: string,
  reporter: string,
  caller: string | null,
  sent: SentCapabilities,
): Command<Introduced> {
  return {
    ...introduce(device, reporter, caller),
    also: ({ key, at }) => [saveCapabilities(key, at, sent)],
  }
}

export function forgetCapabilities(device: string, reporter: string, caller: string | null): Command<Introduced> {
  const { needs, decide } = introduce(device, reporter, caller)
  return {
    needs,
    decide(world) {
      if (!world.device(device)) throw new DomainError('NOT_FOUND', `there is no device ${device}`)
      return decide(world)
    },
    also: ({ key, at }) => [saveCapabilities(key, at, null)],
  }
}

function introduce(device: string, reporter: string, caller: string | null): Command<Introduced> {
  const parent = parentName(device)
  return {
    needs: {
      devices: [device, reporter, ...(parent ? [parent] : []), ...(caller === null ? [] : [caller])],
      ...(caller !== null && { ancestors: true }),
    },
    decide(world) {
      if (caller !== null) refuseStrangers(world, caller, [reporter, device])
      refuseRevoked(world.device(reporter), world.device(device), caller === null ? null : world.device(caller))
      const { key } = parent ? ensureChild(world, device, parent) : world.ensureDevice(device)
      hearKnown(world, caller ?? reporter)
      return { key, at: world.now }
    },
  }
}
