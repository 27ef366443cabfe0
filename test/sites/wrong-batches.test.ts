/** Batches that a site may not send: each is refused or taken, none is an error of the server, and what is read afterwards is whole. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Batch } from '../../src/domain/sites/batch.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { batchOf, position, press, rollout, snapshotOf, stateOf } from '../support/site-batches.ts'

const odd = fc.constantFrom<unknown>(
  ...[null, -1, 0, 1.5, 2 ** 53, 9, '', 'x', '\u0000', '\ud800', 'a/../b', 'x'.repeat(600), true, [], {}, [[]]],
  ...[
    { key: 7 },
    ['x'],
    { __proto__: 1 },
    'DEVICE',
    'SITE',
    'DEPLOYMENT_FORGOTTEN',
    'INSTALLED',
    'toString',
    253_402_300_800_000,
  ],
)

/** Puts `value` at a place of the batch, or removes what is there. */
function altered(batch: Batch, place: number, value: unknown): unknown {
  const copy = JSON.parse(JSON.stringify(batch))
  const places: (() => void)[] = []
  const walk = (node: Record<string, unknown>): void => {
    for (const name of Object.keys(node)) {
      places.push(() => {
        if (value === undefined) delete node[name]
        else node[name] = value
      })
      if (typeof node[name] === 'object' && node[name] !== null) walk(node[name] as Record<string, unknown>)
    }
  }
  walk(copy)
  places[place % places.length]?.()
  return copy
}

describe.each(stores)('wrong batches on $name', (store) => {
  let server: RunningApp
  let token = ''
  beforeAll(async () => {
    server = await startApp({ store })
    const document = 'mutation { registerSite(input: { path: "eu" }) { ... on RegisterSiteSuccess { token } } }'
    token = (await server.query(document)).registerSite.token
  })
  afterAll(() => server.stop())

  const send = (batch: unknown) => server.post('/sites/v1/batches', batch, { authorization: `Bearer ${token}` })

  it('are no errors of the server, and leave nothing that cannot be read', async () => {
    const component = { name: 'web', state: 'INSTALLED', error: null, changedAt: 0, revision: 1 } as const
    const begin = snapshotOf([stateOf(8, 'pump', { components: [component] })], { targets: [press] })
    const changes = [
      {
        kind: 'DEPLOYMENT_STATE_CHANGED',
        from: 'INSTALLED',
        to: 'FAILED',
        error: { code: 'a', message: 'b' },
        attempt: 1,
        adoptedManifestVersion: '3',
      },
      { kind: 'COMPONENT_STATE_CHANGED', component: 'web', from: 'INSTALLED', to: 'FAILED', error: null },
      {
        kind: 'DEPLOYMENT_REVISED',
        application: 'a',
        applicationVersion: null,
        rolloutKey: 1,
        readiness: 'READY',
        componentReadiness: { web: 'READY' },
      },
      { kind: 'CONVERGENCE_CHANGED', from: 'UNKNOWN', to: 'STALE', targetManifestVersion: '1', documentDigest: null },
    ] as const
    const report = { verdict: 'APPLIED', receivedAt: 0, seq: '1', boot: 'b', dialect: 'margo/2024-09' } as const
    const facts = batchOf({
      ...{ after: position(101), upTo: position(110), targets: [press] },
      facts: [
        {
          revision: 102,
          at: 0,
          deployment: 8,
          target: 7,
          rollout,
          named: { deploymentId: 'pump', reporter: 'press-1' },
          report,
          changes,
        },
        {
          revision: 106,
          at: 0,
          target: 7,
          changes: [{ kind: 'CONNECTIVITY_CHANGED', from: 'UNKNOWN', to: 'OFFLINE', source: 'SILENCE' }],
        },
        {
          revision: 107,
          at: 0,
          target: 7,
          changes: [{ kind: 'MAINTENANCE_STARTED', maintenanceKey: 1, reason: '', since: 0, until: 1 }],
        },
      ],
    })
    expect((await send(begin)).status).toBe(200)
    expect((await send(facts)).status).toBe(200)
    const statuses = new Set<number>()
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(begin, facts),
        fc.nat({ max: 200 }),
        fc.option(odd, { nil: undefined }),
        async (batch, place, value) => {
          await send(begin)
          const { status } = await send(altered(batch, place, value))
          statuses.add(status)
          expect([200, 400, 403, 409, 422]).toContain(status)
        },
      ),
      { numRuns: 150 },
    )
    expect([...statuses]).toEqual(expect.arrayContaining([200, 422]))
    await server.query(
      `{ deployments { nodes { state components { name } history { nodes { __typename revision } } reports { nodes { dialect } } device { name site { path } } } }
        devices { nodes { deviceId connectivity } } sites { path reception { backlog } } deploymentCounts { total } }`,
    )
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})
