/** The list of k8splugin's instances: complete and in order, and few of the documents, which may be large, are in memory at a time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const instances = 30

describe.each(stores)("a list of k8splugin's instances on $name", (store) => {
  let empty: EmptyStore
  let server: RunningApp
  /** The most documents that a statement returned. */
  let most = 0
  beforeAll(async () => {
    empty = await store.create()
    server = await startApp({ on: { ...empty, open: async () => countingDocuments(await empty.open()) } })
  })
  afterAll(async () => {
    await server.stop()
    await empty.drop()
  })

  function countingDocuments(database: Database): Database {
    return Object.assign(Object.create(database) as Database, {
      async snapshot(...given: Parameters<Database['snapshot']>) {
        const snapshot = await database.snapshot(...given)
        const rows: typeof snapshot.rows = async <T extends object>(query: Parameters<typeof snapshot.rows>[0]) => {
          const found = await snapshot.rows<T>(query)
          if (found.some((row) => 'document' in row)) most = Math.max(most, found.length)
          return found
        }
        return Object.assign(Object.create(snapshot) as typeof snapshot, { rows })
      },
    })
  }

  it('reads few documents at a time', async () => {
    const url = `${server.url}/v1/instance`
    expect(await (await fetch(url)).json()).toEqual([])
    const ids = Array.from({ length: instances }, (_, index) => `id-${String(index).padStart(2, '0')}`)
    for (const id of ids) {
      const request = {
        'rb-name': 'vault',
        'rb-version': 'v1',
        'profile-name': id.endsWith('7') ? 'large' : 'p',
        'cloud-region': 'r',
        'release-name': `release-${id}`,
      }
      const document = { id, request, namespace: 'n', values: 'x'.repeat(1_000), resources: [] }
      const put = await fetch(`${url}/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(document),
      })
      expect(put.status).toBe(201)
    }
    const answer = await fetch(url)
    expect(answer.headers.get('content-type')).toBe('application/json')
    const listed = (await answer.json()) as object[]
    expect(listed).toHaveLength(instances)
    expect(listed.map((one) => ('id' in one ? one.id : null))).toEqual(ids)
    expect(listed[29]).toMatchObject({
      namespace: 'n',
      'release-name': 'release-id-29',
      request: { 'rb-name': 'vault' },
    })
    expect(JSON.stringify(listed)).not.toContain('xxx')
    expect(most).toBe(8)
    const idsWith = async (query: string) =>
      ((await (await fetch(`${url}?${query}`)).json()) as { id: string }[]).map(({ id }) => id)
    expect(await idsWith('rb-name=vault&rb-version=v1&profile-name=large')).toEqual(['id-07', 'id-17', 'id-27'])
    expect(await idsWith('rb-name=vault&rb-version=&limit=1')).toEqual(ids)
    expect(await idsWith('rb-name=vault&rb-version=v2')).toEqual([])
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})
