/** Requests of GET /export over real sockets: formats, trailers, verification, and refusals. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { linesOf, useExports } from './harness.ts'

describe.each(stores)('GET /export on $name', (store) => {
  const { server, report, get, text, problem } = useExports(store)

  it('sends its figures in trailers, and the same figures in the manifest', async () => {
    const { response, body } = await new Promise<{ response: IncomingMessage; body: Buffer }>((resolve, reject) => {
      request(`${server().url}/export/changes?format=csv`, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => resolve({ response: answer, body: Buffer.concat(chunks) }))
      })
        .on('error', reject)
        .end()
    })
    const sha256 = createHash('sha256').update(body).digest('hex')
    const all = linesOf(await text('/export/changes'))
    const [first, last] = [all[0]?.revision, all.at(-1)?.revision]
    expect(response.trailers).toEqual({
      'rollcall-rows': String(all.length),
      'rollcall-sha256': sha256,
      'rollcall-cursor': last,
    })
    const location = String(response.headers['content-location'])
    expect(response.headers['rollcall-revision']).toBe(last)
    await report('edge-9', 'later', 'installing', [])
    const manifest = await (await get(location.replace('/export/changes', '/export/changes/manifest'))).json()
    expect(manifest).toMatchObject({
      ...{ kind: 'changes', format: 'csv', location, revision: last, rows: all.length, bytes: body.length, sha256 },
      ...{ firstRevision: first, lastRevision: last, cursor: last },
    })
  })

  it('chooses the format by Accept', async () => {
    const typeOf = async (accept: string) => (await get('/export/devices', { accept })).headers.get('content-type')
    expect(await typeOf('*/*')).toBe('application/x-ndjson')
    expect(await typeOf('application/jsonl;q=0.5, text/csv')).toBe('text/csv')
    expect(await typeOf('')).toBe('application/x-ndjson')
    expect(await typeOf('*/*, application/x-ndjson;q=0')).toBe('application/x-ndjson')
    expect(await typeOf('*/*, application/x-ndjson;q=0, application/ndjson;q=0, application/jsonl;q=0')).toBe(
      'text/csv',
    )
    expect(await problem('/export/devices', { accept: 'image/png' })).toEqual([
      ...[406, 'application/problem+json', 'NOT_ACCEPTABLE', ['Accept']],
    ])
  })

  it('answers clients of HTTP/1.0, which has no trailers', async () => {
    const socket = connect(server().port, '127.0.0.1')
    socket.write('GET /export/devices?format=csv HTTP/1.0\r\n\r\n')
    const answer = (await socket.setEncoding('utf8').toArray()).join('')
    expect(answer.split('\r\n\r\n')[1]).toBe(await text('/export/devices?format=csv'))
  })

  it('answers HEAD without rows', async () => {
    const answer = await fetch(`${server().url}/export/changes`, { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  })

  it.each([
    ['changes?formatt=csv&limit=1', ['formatt', 'limit']],
    ['changes?after=1&after=2', ['after']],
    ['changes?format=xml', ['format']],
    ['changes?after=x', ['after']],
    ['changes?after=9999999999999999', ['after']],
    ['reports?after=5', ['after']],
    ['devices?after=x', ['after']],
    ['devices?after=service.x', ['after']],
    ['changes?where=%7B', ['where']],
    ['changes?where=%7B%22states%22%3A%5B%5D%7D', ['where']],
    ['changes?selector=%3D', ['selector']],
    ['changes?since=yesterday', ['since']],
    ['changes?atRevision=x', ['atRevision']],
    ['changes?since=x&before=y&afterRevision=z&limit=1', ['limit', 'since', 'before', 'afterRevision']],
    ['reports?format=xml&asOf=x&selector=%3D&where=%7B', ['format', 'asOf', 'selector', 'where']],
    ['changes?atRevision=1&asOf=2026-01-01T00%3A00%3A00Z', ['atRevision']],
    ['deployments?since=2026-01-01T00%3A00%3A00Z', ['since']],
    ['audit?where=%7B%7D', ['where']],
  ])('names what is wrong in %s', async (path, fields) => {
    expect(await problem(`/export/${path}`)).toEqual([400, 'application/problem+json', 'BAD_USER_INPUT', fields])
  })

  it.each(['changes', 'deployments', 'devices'])(
    'refuses a condition of %s as deep as an address is long',
    async (kind) => {
      const path = `/export/${kind}?where=${'{"and":['.repeat(1_500)}${']}'.repeat(1_500)}`
      const [answer] = (await once(request(server().url, { path }).end(), 'response')) as [IncomingMessage]
      const { code, errors } = JSON.parse(await textOf(answer))
      expect([answer.statusCode, code, errors[0].field]).toEqual([400, 'BAD_USER_INPUT', 'where'])
    },
  )

  it('answers any value of a parameter without an internal error', async () => {
    const value = fc.oneof(
      fc.constantFrom(
        '0',
        '1.2',
        '9'.repeat(20),
        'begin',
        'retired.',
        'service.eyJ',
        '\0',
        '\ud800',
        'a\0=b',
        'a in (\0)',
        '!',
        '[]',
        '{}',
      ),
      fc.constantFrom(
        '{"text":"\\u0000"}',
        '{"not":{"and":[]}}',
        '{"label":{"key":"\\ud800"}}',
        '{"deviceIds":["\\u0000"]}',
        'null',
        '7',
      ),
      fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-02-30T00:00:00Z', 'csv', 'parquet'),
      fc.string({ unit: 'binary', maxLength: 12 }),
    )
    const names = [
      'format',
      'after',
      'afterRevision',
      'atRevision',
      'asOf',
      'since',
      'before',
      'selector',
      'where',
      'upTo',
    ]
    const kinds = ['changes', 'reports', 'deployments', 'devices', 'audit', 'changes/manifest']
    const query = fc.array(fc.tuple(fc.constantFrom(...names), value), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...kinds), query, async (kind, parameters) => {
        const answer = await get(
          `/export/${kind}?${new URLSearchParams(parameters.map(([name, text]) => [name, text]))}`,
        )
        await answer.arrayBuffer()
        expect([200, 400, 410]).toContain(answer.status)
      }),
      { numRuns: someOf(40, 300) },
    )
  })

  it('reads a parameter up to its end, whatever characters it contains', async () => {
    expect(linesOf(await text('/export/devices?where={"text":"?"}'))).toEqual([])
    expect(await problem('/export/devices?selector=site&format=csv?')).toEqual([
      ...[400, 'application/problem+json', 'BAD_USER_INPUT', ['format']],
    ])
  })

  it('refuses a range that ends before it begins, and names the parameter', async () => {
    const [first, second] = linesOf(await text('/export/changes')).map(({ revision }) => revision)
    expect(await problem(`/export/changes?afterRevision=${second}&atRevision=${first}`)).toEqual([
      ...[400, 'application/problem+json', 'BAD_USER_INPUT', ['afterRevision']],
    ])
    const later = await (await get('/export/changes?afterRevision=9007199254740993')).json()
    expect(later.detail).toContain('afterRevision is 9007199254740993, which is after')
  })

  it('refuses revisions that are not in the history', async () => {
    const expired = [410, 'application/problem+json', 'HISTORY_EXPIRED', []]
    expect(await problem('/export/changes?atRevision=999999')).toEqual(expired)
    const { cursor } = linesOf(await text('/export/changes'))[0] ?? {}
    expect(await problem(`/export/changes?after=${Number(cursor) - 1_000}`)).toEqual(expired)
  })
})
