/** The source of the repositories: the stored versions of a device's desired state. */

import { firstManifestVersion } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Millis } from '../../domain/values.ts'
import { describeOutage, isTransient } from '../../store/connection/failure.ts'
import type { Database } from '../../store/database.ts'
import { manifestHistory } from '../../store/read/desired/desired.ts'
import { findTips, requireTip } from '../../store/read/desired/manifest-tips.ts'
import { createLookup } from '../auth/devices/lookup.ts'

/** Distinguishes histories: a restored database may use the same version a second time. */
export interface Stamp {
  readonly version: number
  readonly at: Millis
}

export interface Version extends Stamp {
  readonly caller: string
  /** The reason. Empty: none was given. */
  readonly why: string
  readonly changes: readonly DocumentChange[]
}

/** Both null: the deployment was withdrawn. */
export interface DocumentChange {
  readonly deploymentId: string
  readonly digest: string | null
  /** The document, byte for byte. */
  readonly content: string | null
}

export interface History {
  /** The history of a device that may fetch its desired state. Throws NOT_FOUND_YET, FORBIDDEN, UNAVAILABLE. */
  newest(device: string): Promise<Stamp>
  /** All versions after this one, in order. */
  after(device: string, version: number): AsyncGenerator<Version>
}

/** The state before the first declaration. */
export const beginning: Stamp = { version: firstManifestVersion, at: 0 }

/** Limits of one read: versions, and their bytes together. A single version may exceed the bytes. */
const page = { limit: 50, bytes: 4 << 20 }

export function createHistory({ session }: Pick<Database, 'session'>): History {
  const find = createLookup((names) => findTips(session, names))
  const tipOf = async (device: string) => requireTip(device, await find(device))

  return {
    newest: tipOf,
    async *after(device, version) {
      const { key, version: newest } = await tipOf(device)
      let last = version
      while (last < newest) {
        const versions: readonly Version[] = await manifestHistory(session, key, last, page).catch(unreachable)
        yield* versions
        last = versions.at(-1)?.version ?? newest
      }
    },
  }
}

function unreachable(cause: unknown): never {
  if (!isTransient(cause)) throw cause
  throw new DomainError('UNAVAILABLE', `${describeOutage(cause)}: retry later`, { cause })
}
