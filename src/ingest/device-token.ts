/** Tokens of devices. A token is returned once. The database stores only its hash. */
import { createHash, randomBytes } from 'node:crypto'

interface DeviceToken {
  readonly text: string
  readonly hash: string
}

export function newDeviceToken(): DeviceToken {
  const text = `rollcall_${randomBytes(32).toString('base64url')}`
  return { text, hash: hashDeviceToken(text) }
}

/** How `newRepositoryToken` begins. */
export const repositoryTokenPrefix = 'rollcall_git_'

/** Opens the Git repository of a device that signs its requests, because Git's clients cannot sign. */
export function newRepositoryToken(): DeviceToken {
  const text = `${repositoryTokenPrefix}${randomBytes(32).toString('base64url')}`
  return { text, hash: hashDeviceToken(text) }
}

/** 256 random bits need neither salt nor stretching. */
export function hashDeviceToken(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
