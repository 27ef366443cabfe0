/** The rows of GET /export over real sockets, and how an export is continued. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { everyStore } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { type Duck, openDuck } from './duckdb.ts'
import { type Line, linesOf, parentOf, useExports } from './harness.ts'

describe.each(everyStore)('GET /export on $name', (store) => {
  const { server, report, get, text } = useExports(store)
  let duck: Duck
  beforeAll(async () => {
    duck = await openDuck()
  })
  afterAll(() => duck.close())

  it('has the changes that the API has', async () => {
    const { changes } = await server().query('{ changes(first: 100) { nodes { revision kind at } } }')
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
      const { deployments } = await server().query(
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
      await server().query('mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) { __typename } }')
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

  it('writes CSV without formulas that a spreadsheet would execute', async () => {
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
        const { changes, revision } = await server().query(
          'query ($after: Revision) { changes(first: 100, after: $after) { nodes { revision } } revision }',
          { after },
        )
        const all = [...exported, ...changes.nodes.map((node: Line) => node.revision)].map(Number)
        const first = all[0] ?? 0
        expect(all).toEqual(all.map((_, index) => first + index))
        expect(all.at(-1)).toBe(Number(revision))
      }),
      { numRuns: someOf(4, 8) },
    )
  })
})
