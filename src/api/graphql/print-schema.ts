/** `npm run schema`: writes schema.graphql. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printSchema } from 'graphql'
import { schema } from './schema.ts'

export const schemaFile = join(import.meta.dirname, '../../../schema.graphql')

export function printedSchema(): string {
  return `${printSchema(schema)}\n`
}

if (import.meta.main) writeFileSync(schemaFile, printedSchema())
