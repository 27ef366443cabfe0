/** What the repositories are made from: the versions of a device's desired state, as they are kept. */
import type { Millis } from '../domain/deployment.ts'
import { firstManifestVersion } from '../domain/desired.ts'
import { DomainError } from '../domain/errors.ts'
import type { Database } from '../store/database.ts'
import { manifestHistory, newestManifest } from '../store/desired.ts'
import { isTransient } from '../store/failure.ts'
import { targetByName } from '../store/targets.ts'

/** Tells one history from another: a database that was restored may give the same number a second time. */
export interface Stamp {
  readonly version: number
  readonly at: Millis
}

export interface Version extends Stamp {
  readonly who: string
  /** Empty: nobody said. */
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
  /** Null: nothing was ever desired of it. */
  newest(device: string): Promise<Stamp | null>
  /** All after this one, in their order. */
  after(device: string, version: number): AsyncIterable<Version>
}

/** Versions that are read at a time: each may bring some hundred kilobytes. */
const pageSize = 50

export function createHistory({ session }: Pick<Database, 'session'>): History {
  const keyOf = async (device: string) => (await targetByName(session, 'DEVICE', '', device))?.key ?? null

  return {
    newest: (device) =>
      reading(async () => {
        const key = await keyOf(device)
        return key === null ? null : newestManifest(session, key)
      }),
    async *after(device, version) {
      const key = await reading(() => keyOf(device))
      let last = version
      for (let size = key === null ? 0 : pageSize; size === pageSize; ) {
        const page = await reading(() => manifestHistory(session, key ?? 0, last, pageSize))
        yield* page
        last = page.at(-1)?.version ?? last
        size = page.length
      }
    },
  }
}

export const beginning: Stamp = { version: firstManifestVersion, at: 0 }

async function reading<T>(read: () => Promise<T>): Promise<T> {
  return read().catch((cause: unknown) => {
    if (!isTransient(cause)) throw cause
    throw new DomainError('UNAVAILABLE', 'the database cannot be reached: come again later', { cause })
  })
}
