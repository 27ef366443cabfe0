/** Divides the tables of the history where a test needs it: the duty does so after half a million rows. */
import type { Database } from '../../../src/store/database.ts'
import { dividePartition, listPartitions, partitionedTables, readGrowth } from '../../../src/store/write/partitions.ts'

/** The rows after the next `ahead` keys go to a new partition. */
export async function divideTables(database: Database, ahead: number): Promise<void> {
  for (const table of partitionedTables) {
    const partitions = await listPartitions(database.session, table.name)
    const last = partitions.at(-1)
    if (!last) throw new Error(`${table.name} has no partition`)
    const { head } = await readGrowth(database.session, table, partitions, Date.now(), null)
    await dividePartition(database, table, last, Math.max(head + ahead, (last.from ?? 0) + 1))
  }
}
