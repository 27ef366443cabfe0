import { expect, it } from 'vitest'
import { dialects } from '../../src/ingest/dialects/index.ts'
import { startApp } from '../support/servers/app.ts'
import { lighthouse } from './made-up/index.ts'

it('serves a dialect that is a folder and a line in the list', async () => {
  const server = await startApp({ dialects: [...dialects, lighthouse] })
  const ask = async (method: string, body?: string, type = 'application/json') => {
    const headers = { 'content-type': type }
    const answer = await fetch(`${server.url}/lighthouses/east`, { method, ...(body && { body, headers }) })
    return [answer.status, await answer.json()]
  }
  expect(await ask('PUT', '{"isLit":true}')).toEqual([202, { verdict: 'APPLIED' }])
  expect(await ask('PUT', '{"isLit":true}')).toEqual([202, { verdict: 'UNCHANGED' }])
  expect(await ask('GET')).toEqual([200, { isLit: 'INSTALLED' }])
  expect(await ask('PUT', '{}')).toMatchObject([422, { errors: [{ field: 'isLit' }] }])
  expect(await ask('PUT', JSON.stringify(' '.repeat(64)))).toMatchObject([413, {}])
  expect(await ask('PUT', 'lit', 'text/plain')).toMatchObject([415, {}])
  expect(await ask('DELETE')).toMatchObject([405, { detail: expect.stringMatching(/use PUT or GET$/) }])
  expect(await server.query('{ deployments { nodes { state target { name } } } }')).toEqual({
    deployments: { nodes: [{ state: 'INSTALLED', target: { name: 'coast' } }] },
  })
  await server.stop()
})
