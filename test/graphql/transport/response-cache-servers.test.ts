/** Cached responses of whole servers: what one costs with an API key or a session, and that it reflects what another server has stored. */
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, it } from 'vitest'
import { headStatement } from '../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { postgresStores, stores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'

describe.each(stores)('cached responses to an API key, and to a session of it, on $name', (store) => {
  it('cost the one statement that looks up the credential, and end when the key is revoked', async () => {
    const empty = await store.create()
    const sent: string[] = []
    const open = async (): Promise<Database> => {
      const database = await empty.open()
      const { session } = database
      const run: Session['run'] = (text, parameters) => {
        sent.push(text)
        return session.run(text, parameters)
      }
      const rows: Session['rows'] = (query) => {
        sent.push(new PgDialect().sqlToQuery(query).sql)
        return session.rows(query)
      }
      return { ...database, session: { ...session, run, rows } }
    }
    const admin = { authorization: 'Bearer an-admin-key-for-tests-only' }
    const env = { API_AUTH: 'key', API_ADMIN_KEY: 'an-admin-key-for-tests-only' }
    const server = await startApp({ on: { ...empty, open }, env })
    const manage = async (query: string) => (await (await server.post('/graphql', { query }, admin)).json()).data
    const { createApiKey } = await manage(`mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) {
      ... on CreateApiKeySuccess { key apiKey { id } } } }`)
    const bearer = { authorization: `Bearer ${createApiKey.key}` }
    const signedIn = await server.post('/session', {}, bearer)
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const ask = async (headers: Record<string, string>) =>
      (await server.post('/graphql', { query: '{ deploymentCounts { total } }' }, headers)).status
    const asks = 30
    for (const headers of [bearer, { cookie }]) {
      for (let n = 0; n < 3; n += 1) expect(await ask(headers)).toBe(200)
      sent.length = 0
      for (let n = 0; n < asks; n += 1) expect(await ask(headers)).toBe(200)
      expect(sent.filter((text) => text.includes('"api_keys"'))).toHaveLength(asks)
      // Duties look at the head, too.
      expect(sent.filter((text) => text === headStatement.text).length).toBeLessThan(asks / 2)
    }
    await manage(`mutation { revokeApiKey(input: { id: "${createApiKey.apiKey.id}" }) { __typename } }`)
    for (const headers of [bearer, { cookie }]) expect(await ask(headers)).toBe(401)
    await server.stop()
    await empty.drop()
  })
})

describe.each(postgresStores)('responses of two servers on one $name', (store) => {
  it('reflect what the other server has acknowledged', async () => {
    const on = await store.create()
    const [a, b] = [await startApp({ on }), await startApp({ on })]
    const query = '{ revision deploymentCounts { total installed } }'
    for (let n = 0; n < 10; n += 1) {
      const told = await a.post(`/device/e-${n}/deployment/d/status`, {
        deploymentId: 'd',
        status: { state: 'installed' },
        components: [],
      })
      const { revision } = (await told.json()) as { revision: string }
      const answer = await b.query(query)
      expect(Number(answer.revision)).toBeGreaterThanOrEqual(Number(revision))
      expect(answer.deploymentCounts.total).toBe(n + 1)
    }
    await Promise.all([a.stop(), b.stop()])
    await on.drop()
  })
})
