import type { Millis } from '../values.ts'
import type { SitePosition } from './batch.ts'

/** How far this server has the log of a site, by the key of its target. */
export interface StoredSite {
  readonly key: number
  /** Null: nothing was received yet. */
  readonly position: SitePosition | null
  /** The snapshot that is being received. It continues after this key of the sender. */
  readonly snapshot: { readonly upTo: SitePosition; readonly after: number } | null
  readonly protocol: number
  /** The version of its server. */
  readonly version: string
  /** Entries of its log that it had not sent yet, with the last batch. */
  readonly backlog: number
  /** By the clock of the site. */
  readonly sentAt: Millis
  readonly receivedAt: Millis
}

/** The path of a site above it: where `below` is, as the server of `site` calls it. */
export function pathOf(site: string, below: string | undefined): string {
  return below === undefined ? site : `${site}/${below}`
}
