/** The revisions of an export. */
import type { Revision } from '../../../domain/values.ts'
import type { Snapshot } from '../../../store/database.ts'
import { requireRetained, resolvePast } from '../../../store/read/past.ts'
import { beginningIn, type Query, refused, timeIn } from '../query.ts'

export const momentParameters = ['asOf', 'atRevision'] as const

/** The revision that is asked for. Without one, the newest. */
export async function revisionOf(snapshot: Snapshot, query: Query): Promise<Revision> {
  const asked = { asOf: timeIn(query, 'asOf'), atRevision: query.get('atRevision') ?? null }
  return (await resolvePast(snapshot, asked)) ?? (await snapshot.head).revision
}

interface RevisionRange {
  /** The changes after it. */
  readonly from: Revision
  readonly to: Revision
}

/** From `afterRevision`, or the oldest retained revision, up to the revision that is asked for. */
export async function rangeOf(snapshot: Snapshot, query: Query): Promise<RevisionRange> {
  const to = await revisionOf(snapshot, query)
  const asked = beginningIn(query, 'afterRevision')
  const from = asked ?? (await snapshot.head).tail
  if (from > to)
    throw refused(
      'afterRevision',
      `is ${query.get('afterRevision')}, which is after ${to}, the revision of this export`,
    )
  return { from: await requireRetained(snapshot, from), to }
}
