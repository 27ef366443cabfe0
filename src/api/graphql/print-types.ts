/** First step of `npm run typecheck`: writes schema.graphql as types for the dashboard's documents. Not committed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal'
import { buildSchema, introspectionFromSchema } from 'graphql'
import { schemaFile } from './print-schema.ts'

const typesFile = join(import.meta.dirname, '../../apps/dashboard/schema.d.ts')

const introspection = introspectionFromSchema(buildSchema(readFileSync(schemaFile, 'utf8')), { descriptions: false })
writeFileSync(
  typesFile,
  // The introspection types of the two packages differ only in parts that are not used here.
  outputIntrospectionFile(minifyIntrospection(introspection as never), { fileType: '.d.ts', shouldPreprocess: true }),
)
