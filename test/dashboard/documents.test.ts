/** Every document of the page is valid by the schema: gql.tada types a document, but does not see fields that cannot be merged. */
import { parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { readPageDocuments } from '../../src/api/rest/page/page-documents.ts'

it('asks only what the schema allows', async () => {
  const documents = await readPageDocuments()
  expect(documents.length).toBeGreaterThan(20)
  for (const document of documents)
    expect({ document, errors: validate(schema, parse(document)) }).toEqual({ document, errors: [] })
})
