/** What a device proves itself with. The text is shown once; the database only ever sees the hash. */
import { createHash, randomBytes } from 'node:crypto'

export interface DeviceToken {
  readonly text: string
  readonly hash: string
}

export function newDeviceToken(): DeviceToken {
  const text = `rollcall_${randomBytes(32).toString('base64url')}`
  return { text, hash: hashDeviceToken(text) }
}

/** How `newRepositoryToken` begins. */
export const repositoryTokenPrefix = 'rollcall_git_'

/** It opens the Git repository of a device that signs its requests, which Git's clients cannot do. */
export function newRepositoryToken(): DeviceToken {
  const text = `${repositoryTokenPrefix}${randomBytes(32).toString('base64url')}`
  return { text, hash: hashDeviceToken(text) }
}

/** 256 random bits need neither salt nor stretching. */
export function hashDeviceToken(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
