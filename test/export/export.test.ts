/** GET /export over real sockets: the rows, how an export is continued and verified, and refusals. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { stores } from '../support/stores.ts'
import { type Duck, openDuck } from './duckdb.ts'

interface Line {
  readonly cursor: string
  readonly revision: string
  readonly [column: string]: unknown
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** The span that a report of the device belongs to. */
const parentOf = (device: string): string =>
  `00-${Buffer.from(device).toString('hex').padEnd(32, '1')}-${'2'.repeat(16)}-01`

describe.each(stores)('GET /export on $name', (store) => {
  let server: RunningApp
  let duck: Duck
  beforeAll(async () => {
    duck = await openDuck()
    server = await startApp({ store })
    for (const [index, state] of ['installing', 'failed', 'installing', 'installed'].entries())
      for (const device of ['edge-1', 'edge-2', '=edge'])
        await report(device, 'shop', state, [{ name: 'web', state: index === 1 ? 'failed' : 'installing' }])
  }, 60_000)
  afterAll(async () => {
    await duck.close()
    await server.stop()
  })

  async function report(device: string, deployment: string, state: string, components: readonly object[]) {
    const error = state === 'failed' ? { error: { code: '507', message: '=cmd|"calc"\n, and more' } } : {}
    const body = { deploymentId: deployment, status: { state, ...error }, components }
    const path = `/device/${encodeURIComponent(device)}/deployment/${deployment}/status`
    const answer = await server.post(path, body, device === 'edge-1' ? { traceparent: parentOf(device) } : {})
    expect(answer.status).toBeLessThan(300)
  }
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}${path}`, { headers })
  const text = async (path: string) => (await get(path)).text()
  const problem = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await get(path, headers)
    const { code, errors } = (await answer.json()) as { code: string; errors: { field: string }[] }
    return [answer.status, answer.headers.get('content-type'), code, errors.map(({ field }) => field)]
  }

  it('has the changes that the API has', async () => {
    const { changes } = await server.query('{ changes(first: 100) { nodes { revision kind at } } }')
    const lines = linesOf(await text('/export/changes'))
    expect(lines.map(({ revision, kind, at }) => ({ revision, kind, at }))).toEqual(changes.nodes)
  })

  it('has every value of a change', async () => {
    const lines = linesOf(await text('/export/changes'))
    const failed = lines.find(({ to, component, target }) => to === 'FAILED' && !component && target === 'edge-1')
    expect(failed).toEqual({
      ...{ revision: expect.any(String), at: expect.any(String), observedAt: null, cursor: failed?.revision },
      ...{ kind: 'DEPLOYMENT_STATE_CHANGED', deploymentId: 'shop', targetKind: 'DEVICE', targetProvider: null },
      ...{ target: 'edge-1', rolloutKind: 'MARGO_DEPLOYMENT', rollout: 'shop', project: null, compositeApp: null },
      ...{
        compositeAppVersion: null,
        provider: null,
        instanceId: null,
        component: null,
        from: 'INSTALLING',
        to: 'FAILED',
      },
      ...{ errorCode: '507', errorMessage: '=cmd|"calc"\n, and more', resource: null },
      details: { failureStage: expect.anything(), attempt: 1, adoptedManifestVersion: null },
      traceparent: parentOf('edge-1'),
    })
  })

  it.each([
    ['changes', 'true'],
    ['reports', 'revision is not null'],
  ])('names in %s the trace context of each request, in each format', async (kind, where) => {
    const expected = (target: unknown) => (target === 'edge-1' ? parentOf('edge-1') : null)
    const lines = linesOf(await text(`/export/${kind}`))
    for (const { target, traceparent, revision } of lines)
      expect([kind, traceparent]).toEqual([kind, revision === null ? null : expected(target)])
    for (const format of ['csv', 'parquet'] as const) {
      const bytes = Buffer.from(await (await get(`/export/${kind}?format=${format}`)).arrayBuffer())
      const reader = format === 'csv' ? 'read_csv(FILE, all_varchar = true)' : 'read_parquet(FILE)'
      const found = await duck.ask(bytes, `select target, traceparent from ${reader} where ${where}`)
      expect(found.length).toBeGreaterThan(0)
      for (const { target, traceparent } of found) expect([format, traceparent]).toEqual([format, expected(target)])
    }
  })

  it('shows the deployments as they were at each revision', async () => {
    const revisions = linesOf(await text('/export/changes')).map(({ revision }) => revision)
    for (const revision of revisions) {
      const { deployments } = await server.query(
        `query ($at: Revision) { deployments(first: 100, atRevision: $at) { nodes {
          deploymentId reporter state attempt revision changedAt target { name } components { name } } } }`,
        { at: revision },
      )
      const lines = linesOf(await text(`/export/deployments?atRevision=${revision}`))
      const shown = lines.map(
        ({ deploymentId, reporter, state, attempt, revision: own, changedAt, target, components }) => ({
          ...{ deploymentId, reporter, state, attempt, revision: own, changedAt, target: { name: target } },
          components: (components as { name: string }[]).map(({ name }) => ({ name })),
        }),
      )
      expect(shown).toHaveLength(deployments.nodes.length)
      expect(shown).toEqual(expect.arrayContaining(deployments.nodes))
    }
  })

  it('has the reports and the devices', async () => {
    const reports = linesOf(await text('/export/reports'))
    expect(reports).toHaveLength(12)
    expect(new Set(reports.map(({ target }) => target))).toEqual(new Set(['edge-1', 'edge-2', '=edge']))
    const devices = linesOf(await text('/export/devices'))
    expect(devices.map(({ deviceId }) => deviceId).toSorted()).toEqual(['=edge', 'edge-1', 'edge-2'])
  })

  it('selects as GraphQL and the command line do', async () => {
    const where = encodeURIComponent(JSON.stringify({ deviceIds: ['edge-1'], not: { states: ['FAILED'] } }))
    expect(linesOf(await text(`/export/deployments?where=${where}`)).map(({ target }) => target)).toEqual(['edge-1'])
    expect(linesOf(await text('/export/deployments?selector=site%3Dmunich'))).toEqual([])
    expect(linesOf(await text('/export/deployments?selector=!site'))).toHaveLength(3)
    expect(linesOf(await text(`/export/reports?where=${where}`))).toHaveLength(4)
    const kinds = encodeURIComponent(JSON.stringify({ kinds: ['COMPONENT_STATE_CHANGED'] }))
    const lines = linesOf(await text(`/export/changes?where=${kinds}`))
    expect(new Set(lines.map(({ kind }) => kind))).toEqual(new Set(['COMPONENT_STATE_CHANGED']))
  })

  it('is bounded by revisions and by times', async () => {
    const all = linesOf(await text('/export/changes'))
    const [a, b] = [all[4], all[9]]
    const some = linesOf(await text(`/export/changes?afterRevision=${a?.revision}&atRevision=${b?.revision}`))
    expect(some).toEqual(all.slice(5, 10))
    const later = linesOf(await text(`/export/changes?since=${encodeURIComponent(String(b?.at))}`))
    expect(later).toEqual(all.filter(({ at }) => String(at) >= String(b?.at)))
    const earlier = linesOf(await text(`/export/reports?before=${encodeURIComponent(String(a?.at))}`))
    expect(earlier.every(({ receivedAt }) => String(receivedAt) < String(a?.at))).toBe(true)
  })

  it.each(['changes', 'reports', 'deployments', 'devices', 'audit'])('%s: continues after each row', async (kind) => {
    if (kind === 'audit')
      await server.query('mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) { __typename } }')
    for (const format of ['ndjson', 'csv']) {
      const whole = await get(`/export/${kind}?format=${format}`)
      const location = whole.headers.get('content-location') ?? ''
      const body = await whole.text()
      const cursors = linesOf(await text(location.replace('format=csv', 'format=ndjson'))).map(({ cursor }) => cursor)
      expect(cursors.length).toBeGreaterThan(0)
      for (const cursor of cursors) {
        const rest = await text(`${location}&after=${cursor}`)
        expect(body.endsWith(rest)).toBe(true)
        expect(format === 'csv' || linesOf(rest).length === cursors.length - cursors.indexOf(cursor) - 1).toBe(true)
      }
    }
  })

  it('sends its figures in trailers, and the same in the manifest', async () => {
    const { response, body } = await new Promise<{ response: IncomingMessage; body: Buffer }>((resolve, reject) => {
      request(`${server.url}/export/changes?format=csv`, (answer) => {
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

  it('writes CSV that no spreadsheet runs', async () => {
    const csv = await text('/export/deployments?format=csv')
    const [header, ...lines] = csv.split('\r\n')
    expect(header?.startsWith('"deploymentId","reporter",')).toBe(true)
    expect(lines.at(-1)).toBe('')
    expect(csv).toContain('"\'=edge"')
    const changes = await text('/export/changes?format=csv')
    expect(changes).toContain('"\'=cmd|""calc""\n, and more"')
    expect(changes).not.toMatch(/(^|,)"[=+@]/m)
  })

  it.each(['changes', 'reports', 'deployments', 'devices', 'audit'])(
    '%s: has the same rows in Parquet',
    async (kind) => {
      const answer = await get(`/export/${kind}`, { accept: 'application/vnd.apache.parquet' })
      expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet')
      const found = await duck.ask(await answer.bytes(), 'select * from read_parquet(FILE)')
      const lines = linesOf(await text((answer.headers.get('content-location') ?? '').replace('parquet', 'ndjson')))
      const json = (value: unknown) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value)
      const time = (value: unknown) =>
        String(value)
          .replace(' ', 'T')
          .replace(/(\.\d*?)?0*\+00$/, '$1')
      expect(found).toHaveLength(lines.length)
      for (const [index, row] of found.entries())
        for (const [name, value] of Object.entries(row)) {
          const expected = json(lines[index]?.[name])
          if (/At$|^at$/.test(name) && value !== null)
            expect(Date.parse(`${time(value)}Z`)).toBe(Date.parse(String(expected)))
          else expect([name, String(value)]).toEqual([name, String(expected)])
        }
    },
  )

  it('chooses the format by Accept', async () => {
    const typeOf = async (accept: string) => (await get('/export/devices', { accept })).headers.get('content-type')
    expect(await typeOf('*/*')).toBe('application/x-ndjson')
    expect(await typeOf('application/jsonl;q=0.5, text/csv')).toBe('text/csv')
    expect(await problem('/export/devices', { accept: 'image/png' })).toEqual([
      ...[406, 'application/problem+json', 'NOT_ACCEPTABLE', ['Accept']],
    ])
  })

  it('answers clients of HTTP/1.0, which has no trailers', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET /export/devices?format=csv HTTP/1.0\r\n\r\n')
    const answer = (await socket.setEncoding('utf8').toArray()).join('')
    expect(answer.split('\r\n\r\n')[1]).toBe(await text('/export/devices?format=csv'))
  })

  it('answers HEAD without rows', async () => {
    const answer = await fetch(`${server.url}/export/changes`, { method: 'HEAD' })
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
      const [answer] = (await once(request(server.url, { path }).end(), 'response')) as [IncomingMessage]
      const { code, errors } = JSON.parse(await textOf(answer))
      expect([answer.statusCode, code, errors[0].field]).toEqual([400, 'BAD_USER_INPUT', 'where'])
    },
  )

  it('answers every parameter, and masks nothing', async () => {
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
      { numRuns: 300 },
    )
  })

  it('names a range that ends before it begins', async () => {
    const [first, second] = linesOf(await text('/export/changes')).map(({ revision }) => revision)
    expect(await problem(`/export/changes?afterRevision=${second}&atRevision=${first}`)).toEqual([
      ...[400, 'application/problem+json', 'BAD_USER_INPUT', ['afterRevision']],
    ])
  })

  it('refuses what is not part of the history', async () => {
    expect(await problem('/export/changes?atRevision=999999')).toEqual([
      ...[410, 'application/problem+json', 'HISTORY_EXPIRED', []],
    ])
  })

  it('is continued by the live changes without a gap', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), fc.nat(5), async (devices, at) => {
        const sent = (async () => {
          for (const [index, device] of devices.entries())
            await report(`busy-${device}`, 'shop', index % 2 === 0 ? 'installing' : 'installed', [])
        })()
        for (let turn = 0; turn < at; turn += 1) await new Promise(setImmediate)
        const exported = linesOf(await text('/export/changes')).map(({ revision }) => revision)
        await sent
        const after = exported.at(-1)
        const { changes, revision } = await server.query(
          'query ($after: Revision) { changes(first: 100, after: $after) { nodes { revision } } revision }',
          { after },
        )
        const all = [...exported, ...changes.nodes.map((node: Line) => node.revision)].map(Number)
        const first = all[0] ?? 0
        expect(all).toEqual(all.map((_, index) => first + index))
        expect(all.at(-1)).toBe(Number(revision))
      }),
      { numRuns: 8 },
    )
  })
})
