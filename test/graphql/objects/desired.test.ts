/** Desired state through the API: declared, changed, removed, compared with reports, and in the past. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { stores } from '../../support/databases/stores.ts'
import { declare, documentOf, forget, remove, useDesired } from '../subscriptions/desired-operations.ts'

const sample = readFileSync(new URL('../../fixtures/desired-state/release-candidate.yaml', import.meta.url), 'utf8')

describe.each(stores)('desired state on $name', (store) => {
  const { api, run, put, find, say } = useDesired(store)

  it('continues above the versions that a restored copy of the database may have lost', async () => {
    await put('restored', 'before', documentOf('1', 'a'), 'before')
    // Versions continue above the seconds of the clock, which no lost copy can have used.
    const second = Math.floor(Date.now() / 1_000)
    await api().road.database.transaction((session) => beginEpoch(session, second * 1_000))
    await put('restored', 'after', documentOf('1', 'a'), 'after')
    const { device } = await api().ask(
      '{ device(deviceId: "restored") { manifestHistory { nodes { version reason } } } }',
    )
    const [after, restored] = device.manifestHistory.nodes.map(({ version }: { version: string }) => Number(version))
    expect(device.manifestHistory.nodes.map(({ reason }: { reason: string }) => reason)).toEqual([
      'after',
      expect.stringContaining('restored'),
      'before',
    ])
    expect(restored).toBeGreaterThanOrEqual(second)
    expect(after).toBe(restored + 1)
  })

  it('is kept byte for byte, and gives the application and the components in their order', async () => {
    const result = await run(declare, {
      deployments: [{ deviceId: 'gateway-1/edge-7', deploymentId: 'pumps-north', document: sample }],
      reason: 'spring release',
    })
    expect(result.deployments).toEqual([
      {
        id: expect.any(String),
        deploymentId: 'pumps-north',
        state: 'PENDING',
        convergence: 'UNKNOWN',
        targetManifestVersion: '2',
        adoptedManifestVersion: null,
        application: 'pump-station',
        components: [{ name: 'control', state: 'PENDING' }],
        desired: {
          digest: digestOf(Buffer.from(sample)),
          content: sample,
          sizeBytes: Buffer.byteLength(sample),
          fromManifestVersion: '2',
          declaredBy: 'everyone',
          reason: 'spring release',
        },
      },
    ])
    const { device } = await api().ask(
      '{ device(deviceId: "gateway-1") { manifestVersion manifestHistory { nodes { version caller reason changes { deploymentId digest } } } } }',
    )
    expect(device).toEqual({
      manifestVersion: '2',
      manifestHistory: {
        nodes: [
          {
            version: '2',
            caller: 'everyone',
            reason: 'spring release',
            changes: [{ deploymentId: 'pumps-north', digest: digestOf(Buffer.from(sample)) }],
          },
        ],
      },
    })
    const child = await api().ask('{ device(deviceId: "gateway-1/edge-7") { manifestVersion } }')
    expect(child.device.manifestVersion).toBeNull()
  })

  it('is compared with the report of the device: every convergence', async () => {
    await put('solo', 'c', documentOf('1', 'b', 'a'))
    expect(await find('c')).toMatchObject({ convergence: 'UNKNOWN', components: [{ name: 'b' }, { name: 'a' }] })
    await say('solo', 'c', 'PENDING', '2')
    expect(await find('c')).toMatchObject({ convergence: 'APPLYING' })
    await say('solo', 'c', 'FAILED', '2')
    expect(await find('c')).toMatchObject({ convergence: 'FAILED' })
    await say('solo', 'c', 'INSTALLED', '2')
    expect(await find('c')).toMatchObject({ convergence: 'CONVERGED' })
    await put('solo', 'c', documentOf('2', 'b', 'a'))
    expect(await find('c')).toMatchObject({ convergence: 'STALE', state: 'INSTALLED', targetManifestVersion: '3' })
    await say('solo', 'c', 'INSTALLED', '3')
    expect(await find('c')).toMatchObject({ convergence: 'CONVERGED' })
    // Something else on the same device: that the device works on it says nothing of this.
    await put('solo', 'other', documentOf('1', 'x'))
    expect(await find('c')).toMatchObject({ convergence: 'CONVERGED', targetManifestVersion: '3' })
    expect(await find('other')).toMatchObject({ targetManifestVersion: '4' })
  })

  it('makes no new version of the same bytes, and one version of several documents for one device', async () => {
    await put('twice', 'same', documentOf('1', 'a'))
    const again = await put('twice', 'same', documentOf('1', 'a'))
    expect(again.targetManifestVersion).toBe('2')
    await run(declare, {
      deployments: ['p', 'q', 'r'].map((deploymentId) => ({
        deviceId: 'twice',
        deploymentId,
        document: documentOf('1', deploymentId),
      })),
    })
    expect((await api().ask('{ device(deviceId: "twice") { manifestVersion } }')).device.manifestVersion).toBe('3')
  })

  it('is found by the digest of any of its versions', async () => {
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await put('edge-found', 'found', first)
    await put('edge-found', 'found', second)
    const one = async (digest: string) =>
      (
        await api().ask(
          `query ($digest: String!) { deployment(deploymentId: "found") {
            documentHistory { nodes { digest } } desiredDocument(digest: $digest) { content fromManifestVersion untilManifestVersion }
          } }`,
          { digest },
        )
      ).deployment
    expect(await one(digestOf(first))).toEqual({
      documentHistory: { nodes: [{ digest: digestOf(second) }, { digest: digestOf(first) }] },
      desiredDocument: { content: first, fromManifestVersion: '2', untilManifestVersion: '3' },
    })
    expect((await one(digestOf(second))).desiredDocument).toMatchObject({ content: second, untilManifestVersion: null })
    expect((await one(digestOf(sample))).desiredDocument).toBeNull()
  })

  it('is shown in the past as it was then', async () => {
    await put('often', 'often', documentOf('0', 'a'))
    const { revision } = await api().ask('{ revision }')
    for (let n = 1; n <= 101; n += 1) await put('often', 'often', documentOf(String(n), 'a'))
    const asked = 'desired { content } documentHistory(first: 100) { totalCount nodes { content } }'
    const { now, past } = await api().ask(
      `query ($at: Revision!) { now: deployment(deploymentId: "often") { ${asked} }
        past: deployment(deploymentId: "often", atRevision: $at) { ${asked} } }`,
      { at: revision },
    )
    expect(past).toEqual({
      desired: { content: documentOf('0', 'a') },
      documentHistory: { totalCount: 1, nodes: [{ content: documentOf('0', 'a') }] },
    })
    expect(now.desired.content).toBe(documentOf('101', 'a'))
    expect(now.documentHistory).toMatchObject({ totalCount: 102, nodes: { length: 100 } })
  })

  it('has its versions and documents in pages, forwards and backwards, without an end at 100', async () => {
    const all = 103
    await put('paged', 'other', documentOf('0', 'b'))
    for (let n = 1; n < all; n += 1) await put('paged', 'paged', documentOf(String(n), 'a'))
    const lists = {
      documentHistory: ['deployment(deploymentId: "paged")', 'fromManifestVersion', all - 1],
      manifestHistory: ['device(deviceId: "paged")', 'version changes { deploymentId }', all],
    } as const
    for (const [list, [parent, shown, total]] of Object.entries(lists)) {
      const walk = async (size: 'first' | 'last', from: 'after' | 'before', end: 'endCursor' | 'startCursor') => {
        const pages: object[][] = []
        for (let cursor: string | null = null; ; ) {
          const { of } = await api().ask(
            `query ($cursor: String) { of: ${parent} { ${list}(${size}: 40, ${from}: $cursor) {
              totalCount nodes { ${shown} } pageInfo { hasNextPage hasPreviousPage ${end} } } } }`,
            { cursor },
          )
          const { totalCount, nodes, pageInfo } = of[list]
          expect(totalCount).toBe(total)
          pages.push(nodes)
          expect(pageInfo[size === 'first' ? 'hasPreviousPage' : 'hasNextPage']).toBe(cursor !== null)
          if (!pageInfo[size === 'first' ? 'hasNextPage' : 'hasPreviousPage']) return pages
          cursor = pageInfo[end]
        }
      }
      const forwards = (await walk('first', 'after', 'endCursor')).flat()
      const versions = forwards.map((one) => Number(Object.values(one)[0]))
      expect(versions).toEqual(Array.from({ length: total }, (_, index) => all + 1 - index))
      expect((await walk('last', 'before', 'startCursor')).toReversed().flat()).toEqual(forwards)
    }
  })

  it('is read for any number of devices and deployments by the same statements', async () => {
    const asked = `query ($first: Int!) { devices(first: $first) { nodes { manifestHistory(first: 2) { totalCount nodes { version changes { digest } } } } }
      deployments(first: $first) { nodes { desired { digest } documentHistory(first: 2) { totalCount nodes { digest } } } } }`
    for (let n = 0; n < 4; n += 1) await put(`many-${n}`, `many-${n}`, documentOf(String(n), 'a'))
    const cost = async (first: number) => {
      api().statements()
      await api().ask(asked, { first })
      return api().statements()
    }
    const [few, many] = [await cost(1), await cost(100)]
    expect([few, many]).toEqual([8, 8])
  })

  it('is removed, and converges when the device has removed it', async () => {
    const { id } = await put('leaver', 'leaving', documentOf('1', 'a'), 'in')
    await say('leaver', 'leaving', 'INSTALLED', '2')
    const refused = await run(forget, { ids: [id] })
    expect(refused).toMatchObject({ __typename: 'InvalidInput', path: ['ids', '0'] })
    expect(refused.message).toContain('remove it first')
    const removed = await run(remove, { ids: [id], reason: 'out' })
    expect(removed.deployments[0]).toMatchObject({ convergence: 'STALE', targetManifestVersion: '3', desired: null })
    // Once more says nothing new.
    expect((await run(remove, { ids: [id] })).revision).toBe(removed.revision)
    await say('leaver', 'leaving', 'INSTALLED', '3')
    expect(await find('leaving')).toMatchObject({ convergence: 'APPLYING' })
    await say('leaver', 'leaving', 'REMOVED', '3')
    expect(await find('leaving')).toMatchObject({ convergence: 'CONVERGED' })
    const { deployment } = await api().ask(
      '{ deployment(deploymentId: "leaving") { documentHistory { nodes { fromManifestVersion untilManifestVersion reason content } } } }',
    )
    expect(deployment.documentHistory.nodes).toEqual([
      { fromManifestVersion: '2', untilManifestVersion: '3', reason: 'in', content: documentOf('1', 'a') },
    ])
    expect((await run(forget, { ids: [id] })).__typename).toBe('ForgetDeploymentsSuccess')
  })

  it('refuses invalid documents, and names the field', async () => {
    const wrong = 'id: another\nspec:\n  deploymentProfile: { type: helm, components: [{ name: a }, { name: a }] }\n'
    const invalid = await run(declare, {
      deployments: [{ deviceId: 'bad', deploymentId: 'bad', document: wrong, components: ['a'] }],
    })
    expect(invalid.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
      'deployments.0.document.id',
      'deployments.0.document.spec.deploymentProfile.components.1.name',
      'deployments.0.components',
    ])
    const odd = `${documentOf('1', 'a')}  parameters: { 'a.b "c"': { targets: [{}] } }\n`
    expect(
      await run(declare, { deployments: [{ deviceId: 'bad', deploymentId: 'bad', document: odd }] }),
    ).toMatchObject({
      path: ['deployments', '0', 'document', 'spec', 'parameters', 'a.b "c"', 'targets', '0', 'pointer'],
    })
    const documented = (deviceId: string) => ({ deviceId, deploymentId: 'one', document: documentOf('1', 'a') })
    expect(await run(declare, { deployments: [documented('g/1'), documented('g/2')] })).toMatchObject({
      __typename: 'InvalidInput',
      path: ['deployments', '1', 'document'],
    })
    expect(await api().ask('{ device(deviceId: "g") { name } }')).toEqual({ device: null })
    await run(declare, { deployments: [{ deviceId: 'plain', deploymentId: 'plain' }] })
    const { id } = await find('plain')
    expect(await run(remove, { ids: [id] })).toMatchObject({ __typename: 'InvalidInput', path: ['ids', '0'] })
    expect(await run(remove, { ids: ['nonsense'] })).toMatchObject({ __typename: 'NotFound', path: ['ids', '0'] })
  })

  it('is kept when history is pruned', async () => {
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await put('kept', 'kept', first, 'one')
    await put('kept', 'kept', second, 'two')
    const shown = async () => {
      const asked =
        '{ deployment(deploymentId: "kept") { documentHistory { nodes { content reason } } device { manifestHistory { totalCount nodes { version reason } } } } }'
      return (await api().ask(asked)).deployment
    }
    const before = await shown()
    expect(before.documentHistory.nodes).toEqual([
      { content: second, reason: 'two' },
      { content: first, reason: 'one' },
    ])
    expect(before.device.manifestHistory.totalCount).toBe(2)
    expect(await pruneHistory(api().road.database, Date.now() + 60_000, 10_000)).toBeGreaterThan(0)
    expect(await shown()).toEqual(before)
  })
})
