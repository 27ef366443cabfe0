/** Automatic persisted queries: Apollo's client sends hashes, and texts only where the server needs them. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { print } from 'graphql'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/folder.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const document = gql`
  query Count {
    deploymentCounts {
      total
    }
  }
`
/** The cache of the client asks for types. */
const asSent = print(document).replace('total\n', 'total\n    __typename\n')
const counted = { deploymentCounts: { total: 0 } }
const of = (sha256Hash: string, query?: string) => ({
  ...(query !== undefined && { query }),
  extensions: { persistedQuery: { version: 1, sha256Hash } },
})

/** What each request of a client has, and what the client's query answers. */
async function queried(url: string, useGETForHashedQueries: boolean) {
  const sent: string[] = []
  const send: typeof fetch = (address, init = {}) => {
    const text = `${new URL(String(address)).searchParams} ${init.body ?? ''}`
    sent.push(
      `${init.method}${/persistedQuery/.test(text) ? ' hash' : ''}${/query\+?Count|query Count/.test(text) ? ' text' : ''}`,
    )
    return fetch(address, init)
  }
  const link = new PersistedQueryLink({ sha256: hash, useGETForHashedQueries }).concat(
    new HttpLink({ uri: `${url}/graphql`, fetch: send }),
  )
  const client = new ApolloClient({
    link,
    cache: new InMemoryCache(),
    defaultOptions: { query: { fetchPolicy: 'no-cache' } },
  })
  const { data } = await client.query({ query: document })
  await client.query({ query: document })
  return { data, sent }
}

describe('a client that sends hashes', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
    return () => server.stop()
  })

  it('sends a text once, and other clients never', async () => {
    expect(await queried(server.url, false)).toMatchObject({
      data: counted,
      sent: ['POST hash', 'POST hash text', 'POST hash'],
    })
    expect(await queried(server.url, true)).toMatchObject({ data: counted, sent: ['GET hash', 'GET hash'] })
  })

  it('learns of a hash that is not that of its text, and teaches nobody', async () => {
    const other = '{ revision }'
    const refused = await server.post('/graphql', of(hash('{ deviceCounts { total } }'), other))
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] })
    const asked = await server.post('/graphql', of(hash('{ deviceCounts { total } }')))
    expect(await asked.json()).toMatchObject({ errors: [{ extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }] })
    expect(asked.status).toBe(200)
  })

  it('displaces what others sent only when the memory is full', async () => {
    const pad = (n: number) => `{ revision } # ${n} ${'x'.repeat(200_000)}`
    const send = async (text: string) => (await server.post('/graphql', of(hash(text), text))).json()
    const isKnown = async (text: string) => 'data' in (await (await server.post('/graphql', of(hash(text)))).json())
    await send('{ revision }')
    for (let n = 0; n < 15; n++) expect(await send(pad(n))).toMatchObject({ data: { revision: expect.any(String) } })
    expect([await isKnown('{ revision }'), await isKnown(pad(0)), await isKnown(pad(14))]).toEqual([true, true, true])
    for (let n = 15; n < 40; n++) await send(pad(n))
    expect([await isKnown(pad(0)), await isKnown(pad(39))]).toEqual([false, true])
  })
})

it('has no rights by a hash', async () => {
  const server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: 'an-admin-key-for-tests-only' } })
  try {
    const text = print(document)
    const admin = { authorization: 'Bearer an-admin-key-for-tests-only' }
    expect(await (await server.post('/graphql', of(hash(text), text), admin)).json()).toEqual({ data: counted })
    expect((await server.post('/graphql', of(hash(text)))).status).toBe(401)
  } finally {
    await server.stop()
  }
})

it('sends texts to a server that executes only listed documents', async () => {
  const path = join(temporaryFolder(), 'documents.json')
  writeFileSync(path, JSON.stringify({ count: asSent }))
  const listed = await startApp({ env: { PERSISTED_DOCUMENTS: path } })
  writeFileSync(path, JSON.stringify({ other: '{ __typename }' }))
  const unlisted = await startApp({ env: { PERSISTED_DOCUMENTS: path } })
  try {
    expect(await queried(listed.url, false)).toMatchObject({ data: counted, sent: ['POST hash', 'POST hash'] })
    const asked = await unlisted.post('/graphql', of(hash(print(document))))
    expect(await asked.json()).toMatchObject({
      errors: [{ extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', limit: 'unlistedDocument' } }],
    })
  } finally {
    await listed.stop()
    await unlisted.stop()
  }
})
