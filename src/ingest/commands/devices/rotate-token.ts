import { DomainError } from '../../../domain/errors.ts'
import { expireTokens, issueToken } from '../../../store/write/tokens.ts'
import type { Command } from '../../command.ts'
import { requireDevice } from '../../devices.ts'

/** The old tokens stay valid for `overlapSeconds`. */
export function rotateToken(deviceId: string, tokenHash: string, overlapSeconds: number): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide(work) {
      const { key, retiredAt } = requireDevice(work, deviceId)
      if (retiredAt === null) return { key }
      const message = `device ${deviceId} is retired: registerDevices puts it in service again, with a new token`
      throw new DomainError('INVALID_REQUEST', message, { problems: [{ field: 'deviceId', message }] })
    },
    statements: ({ key }) => [expireTokens(key, overlapSeconds), issueToken(tokenHash, key)],
  }
}
