/** What the repositories are made from: the versions of a device's desired state, as they are kept. */
import { createLookup } from '../auth/devices/lookup.ts'
import { firstManifestVersion } from '../domain/desired.ts'
import { DomainError } from '../domain/errors.ts'
import type { Millis } from '../domain/values.ts'
import { describeOutage, isTransient } from '../store/connection/failure.ts'
import type { Database } from '../store/database.ts'
import { manifestHistory } from '../store/read/desired.ts'
import { findTips, requireTip } from '../store/read/manifest-tips.ts'

/** Distinguishes histories: a restored database may use the same version a second time. */
export interface Stamp {
  readonly version: number
  readonly at: Millis
}

export interface Version extends Stamp {
  readonly who: string
  /** Empty: none was given. */
  readonly why: string
  readonly changes: readonly DocumentChange[]
}

/** Both null: withdrawn. */
export interface DocumentChange {
  readonly deploymentId: string
  readonly digest: string | null
  /** The document, byte for byte. */
  readonly content: string | null
}

export interface History {
  /** Of a device that may fetch what it should run. Throws NOT_FOUND_YET, FORBIDDEN, UNAVAILABLE. */
  newest(device: string): Promise<Stamp>
  /** All after this one, in their order. */
  after(device: string, version: number): AsyncIterable<Version>
}

/** Before anything was desired. */
export const beginning: Stamp = { version: firstManifestVersion, at: 0 }

/** What is read at a time: so many versions, of so many bytes together. One may have more by itself. */
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
  throw new DomainError('UNAVAILABLE', `${describeOutage(cause)}: come again later`, { cause })
}
