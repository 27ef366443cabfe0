/** The migrations of a made-up next version of this program. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Migration, readMigrationsIn } from '../../../src/store/migration/migrate.ts'
import { root } from '../documentation.ts'
import { temporaryFolder } from '../folder.ts'

export const nextTag = '0001_next'

/** Those of this version and one more, read from a folder as the next version is installed with. */
export async function nextVersion(...statements: readonly string[]): Promise<readonly Migration[]> {
  const folder = temporaryFolder()
  cpSync(join(root, 'drizzle'), folder, { recursive: true })
  const file = join(folder, 'meta/_journal.json')
  const journal: { entries: { idx: number; tag: string }[] } = JSON.parse(readFileSync(file, 'utf8'))
  journal.entries.push({ idx: journal.entries.length, tag: nextTag })
  writeFileSync(file, JSON.stringify(journal))
  writeFileSync(join(folder, `${nextTag}.sql`), statements.join('--> statement-breakpoint\n'))
  return readMigrationsIn(folder)
}
