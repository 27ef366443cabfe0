/** What can be exported. One file a kind. */
import type { Snapshot } from '../../../store/database.ts'
import type { Column, Row } from '../columns.ts'
import type { Query } from '../query.ts'

export const kindNames = ['changes', 'reports', 'deployments', 'devices', 'audit'] as const
export type KindName = (typeof kindNames)[number]

/** The session of a part: a snapshot with the caller's access scope, and the same without it, for names. */
export interface Sessions {
  readonly scoped: Snapshot
  readonly whole: Snapshot
}

export interface Part {
  readonly rows: readonly Row[]
  /** The cursor to continue after. Null: there is no more. A part without rows may have a next one. */
  readonly next: string | null
}

/** An export whose bounds are fixed: it has the same rows each time that it is read. */
export interface Extent {
  /** The parameters that ask for exactly this export. */
  readonly parameters: Readonly<Record<string, string>>
  /** The revision that it reflects. Null: the audit log has none. */
  readonly revision: number | null
  /** Throws HISTORY_EXPIRED if the rows after the cursor are no longer stored. */
  read(sessions: Sessions, after: string | null): Promise<Part>
}

export interface Kind {
  readonly columns: readonly Column[]
  /** The parameters besides those of all kinds. */
  readonly accepts: readonly string[]
  /** Fixes the bounds. Throws BAD_USER_INPUT that names a parameter, or HISTORY_EXPIRED. */
  open(sessions: Sessions, query: Query): Promise<Extent>
}
