/** `npm run typecheck` begins with it: writes schema.graphql as the types that the dashboard's documents are checked with. Not committed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal'
import { buildSchema, introspectionFromSchema } from 'graphql'
import { schemaFile } from './print-schema.ts'

const typesFile = join(import.meta.dirname, '../dashboard/schema.d.ts')

const introspection = introspectionFromSchema(buildSchema(readFileSync(schemaFile, 'utf8')), { descriptions: false })
writeFileSync(
  typesFile,
  // The two packages' types of an introspection differ in nothing that is read here.
  outputIntrospectionFile(minifyIntrospection(introspection as never), { fileType: '.d.ts', shouldPreprocess: true }),
)
