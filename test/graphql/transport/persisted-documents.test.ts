import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readPersistedDocuments } from '../../../src/api/graphql/guards/persisted-documents.ts'
import { schema } from '../../../src/api/graphql/schema.ts'
import { type Request, transports } from '../../attacks/transports.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const count = 'query Count { deploymentCounts { total } }'
const type = 'query Type { __typename }'
const watch = 'subscription Watch { deploymentCounts { counts { total } } }'
const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const counted = { data: { deploymentCounts: { total: 0 } } }

const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function listed(content: unknown): string {
  files += 1
  const path = join(folder, `documents-${files}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

describe('a server that executes only listed documents', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ env: { PERSISTED_DOCUMENTS: listed({ 'count-1': count, [hash(watch)]: watch }) } })
  })
  afterAll(() => server.stop())

  describe.each(transports)('over $name', ({ ask }) => {
    it.each<[string, Request]>([
      ['its id', { documentId: 'count-1', query: '' }],
      ['its hash', { documentId: `sha256:${hash(count)}`, query: '' }],
      [
        'its hash, as extensions say it',
        { query: '', extensions: { persistedQuery: { version: 1, sha256Hash: hash(count) } } },
      ],
      ['its text', { query: count }],
    ])('a document is executed by %s', async (_, request) => {
      expect(await ask(server.url, request)).toEqual(counted)
    })

    it.each<[string, Request]>([
      ['another text', { query: type }],
      ['the text with a blank more', { query: `${count} ` }],
      ['another text under a listed id', { query: type, documentId: 'none' }],
      ['an unknown hash', { query: '', extensions: { persistedQuery: { version: 1, sha256Hash: hash(type) } } }],
      ['a hash to be learned', { query: type, extensions: { persistedQuery: { version: 1, sha256Hash: hash(type) } } }],
      ['an id that objects have', { query: '', documentId: 'constructor' }],
      ['an id that is none', { query: '', documentId: 7, extensions: { persistedQuery: 'x' } }],
      ['nothing', { query: '' }],
    ])('%s is refused', async (_, request) => {
      const { data, errors } = await ask(server.url, request)
      expect(data ?? null).toBeNull()
      const code = expect.stringMatching(/^(LIMIT_EXCEEDED|PERSISTED_QUERY_NOT_SUPPORTED)$/)
      expect(errors).toMatchObject([{ extensions: { code, limit: 'unlistedDocument' } }])
    })

    it('executes the document of a listed ID and ignores the text', async () => {
      expect(await ask(server.url, { query: type, documentId: 'count-1' })).toEqual(counted)
    })
  })

  it('also restricts subscriptions', async () => {
    const [, ...streaming] = transports
    for (const { ask } of streaming)
      expect(await ask(server.url, { query: '', documentId: `sha256:${hash(watch)}` })).toEqual({
        data: { deploymentCounts: { counts: { total: 0 } } },
      })
  })

  it('accepts the ID in the URL', async () => {
    const ask = async (query: string) => (await fetch(`${server.url}/graphql?${query}`)).json()
    expect(await ask('documentId=count-1')).toEqual(counted)
    const extensions = JSON.stringify({ persistedQuery: { version: 1, sha256Hash: hash(count) } })
    expect(await ask(`extensions=${encodeURIComponent(extensions)}`)).toEqual(counted)
    expect(await ask('documentId=count-2')).toMatchObject({ errors: [{ extensions: { limit: 'unlistedDocument' } }] })
  })
})

describe('a list of documents', () => {
  it.each([
    ['by ids', { a: count }, 'a'],
    [
      'as Apollo writes it',
      {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: 'a', name: 'Count', type: 'query', body: count }],
      },
      'a',
    ],
    ['alone', [count], hash(count)],
  ])('is read %s', async (_, content, id) => {
    const documents = await readPersistedDocuments(listed(content), schema)
    expect([documents.get(id), documents.get(hash(count))]).toEqual([count, count])
  })

  it.each([
    ['is no JSON', '{', 'must be JSON'],
    ['is something else', '{"a":1}', 'must be JSON'],
    [
      'has a document that the schema does not know',
      { a: '{ nothing }' },
      'the document a is not valid: Cannot query field',
    ],
    ['has a document that is none', ['{'], 'is not valid: Syntax Error'],
  ])('that %s is said at the start', async (_, content, message) => {
    await expect(readPersistedDocuments(listed(content), schema)).rejects.toThrow(message)
  })

  it('that cannot be read is reported at startup', async () => {
    await expect(readPersistedDocuments('/nowhere/documents.json', schema)).rejects.toThrow(
      /documents.json: cannot be read \(ENOENT\)/,
    )
  })
})
