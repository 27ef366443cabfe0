/** `npm run schema`: writes schema.graphql. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientSdl } from './federation/subgraph-sdl.ts'
import { schema } from './schema.ts'

export const schemaFile = join(import.meta.dirname, '../../../schema.graphql')

export function printedSchema(): string {
  return clientSdl(schema)
}

if (import.meta.main) writeFileSync(schemaFile, printedSchema())
