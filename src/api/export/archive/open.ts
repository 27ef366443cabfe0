/** Opens the archive that is configured. Only what it needs is loaded. */
import type { Archive } from '../../../ingest/duties/history.ts'
import type { Database } from '../../../store/database.ts'
import { createArchive } from './archive.ts'
import type { BucketConfig } from './bucket.ts'
import { createDirectory } from './directory.ts'

export type ArchiveConfig =
  | { readonly kind: 'directory'; readonly path: string }
  | ({ readonly kind: 's3' } & BucketConfig)

/** `signal`: ends requests to a bucket. */
export async function openArchive(config: ArchiveConfig, database: Database, signal: AbortSignal): Promise<Archive> {
  const storage =
    config.kind === 's3' ? (await import('./bucket.ts')).createBucket(config, { signal }) : createDirectory(config.path)
  return createArchive(storage, database)
}
