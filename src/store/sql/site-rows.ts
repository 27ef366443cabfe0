/** A row of `sites`, and the object of the domain. */
import type { StoredSite } from '../../domain/sites/stored-site.ts'
import { sites } from '../tables/schema.ts'
import { fieldsBut, type RowOf, rowMapper } from './row-mapping.ts'

export type SiteRecord = RowOf<typeof sites>
const toFields = rowMapper(sites, fieldsBut(sites))

export function toStoredSite(row: SiteRecord): StoredSite {
  const { epoch, revision, writes, snapshotEpoch, snapshotRevision, snapshotWrites, snapshotAfter, ...site } =
    toFields(row)
  return {
    ...site,
    position: epoch === null || revision === null || writes === null ? null : { epoch, revision, writes },
    snapshot:
      snapshotEpoch === null || snapshotRevision === null || snapshotWrites === null || snapshotAfter === null
        ? null
        : {
            upTo: { epoch: snapshotEpoch, revision: snapshotRevision, writes: snapshotWrites },
            after: snapshotAfter,
          },
  }
}

/** The columns of a site as it is stored. */
export function toSiteRow({ position, snapshot, ...site }: StoredSite): typeof sites.$inferInsert {
  return {
    ...site,
    epoch: position?.epoch ?? null,
    revision: position?.revision ?? null,
    writes: position?.writes ?? null,
    snapshotEpoch: snapshot?.upTo.epoch ?? null,
    snapshotRevision: snapshot?.upTo.revision ?? null,
    snapshotWrites: snapshot?.upTo.writes ?? null,
    snapshotAfter: snapshot?.after ?? null,
  }
}
