/**
 * `npm run new-epoch`: for whoever put back a copy of the data that nothing can recognise as one (a volume's snapshot, a copied
 * data directory). Subscribers that were further than the copy are then told so instead of being told nothing.
 */
import { ConfigError, parseConfig } from '../config.ts'
import { DomainError } from '../domain/errors.ts'
import { beginEpoch } from '../store/epoch.ts'
import { openDatabase } from '../store/open.ts'

async function main(): Promise<void> {
  const { store } = parseConfig(process.env)
  const database = await openDatabase(store)
  try {
    const base = await database.transaction((session) => beginEpoch(session, Date.now()))
    console.log(`A new epoch begins at revision ${base} of ${database.location}; older cursors expire.`)
  } finally {
    await database.close()
  }
}

main().catch((error: unknown) => {
  const isExpected = error instanceof ConfigError || error instanceof DomainError
  console.error(isExpected ? error.message : error)
  process.exitCode = 1
})
