/** What the repositories are made from: the versions of a device's desired state, as they were kept. */
import type { Millis } from '../domain/deployment.ts'

/** Tells one history from another: a database that was restored may give the same number a second time. */
export interface Stamp {
  readonly version: bigint
  readonly at: Millis
}

export interface Version extends Stamp {
  readonly who: string
  /** Empty: nobody said. */
  readonly why: string
  readonly changes: readonly DocumentChange[]
}

export interface DocumentChange {
  readonly deploymentId: string
  /** Its exact bytes; null: withdrawn. */
  readonly document: { readonly digest: string; readonly content: string } | null
}

export interface History {
  /** Null: nothing was ever desired of it. */
  newest(device: string): Promise<Stamp | null>
  /** All from this version on, in their order. */
  since(device: string, version: bigint): AsyncIterable<Version>
}

/** Nothing is desired of anything yet. */
export function createHistory(): History {
  return { newest: () => Promise.resolve(null), async *since() {} }
}
