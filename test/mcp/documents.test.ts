/** What the tools ask is valid, also for a server that executes only listed documents. */
import { parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import * as documents from '../../src/api/mcp/documents.ts'
import { assistantDocuments } from '../../src/api/mcp/documents.ts'

it('has only valid documents, and lists them all', () => {
  const invalid = assistantDocuments.flatMap((text) => validate(schema, parse(text)).map(({ message }) => message))
  expect(invalid).toEqual([])
  const { assistantDocuments: _, resources, ...own } = documents
  expect([...Object.values(own), ...Object.values(resources)].toSorted()).toEqual([...assistantDocuments].toSorted())
})
