/** The desired state through the API: declared, changed, removed, compared with reports, counted and streamed. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/dialects/margo/digest.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import { pruneHistory } from '../../src/store/write/housekeeping.ts'
import { stores } from '../support/stores.ts'
import { transports } from './clients.ts'
import { type Api, startApi } from './harness.ts'

const sample = readFileSync(new URL('../fixtures/desired-state/release-candidate.yaml', import.meta.url), 'utf8')

const problem = '... on UserError { message path } ... on InvalidInput { problems { path message } }'
const shown = `id deploymentId state convergence targetManifestVersion adoptedManifestVersion application components { name state }
  desired { digest content sizeBytes fromManifestVersion declaredBy reason }`
const declare = `mutation ($input: DeclareDeploymentsInput!) { result: declareDeployments(input: $input) {
  __typename ${problem} ... on DeclareDeploymentsSuccess { revision deployments { ${shown} } }
} }`
const remove = `mutation ($input: RemoveDeploymentsInput!) { result: removeDeployments(input: $input) {
  __typename ${problem} ... on RemoveDeploymentsSuccess { revision deployments { ${shown} } }
} }`
const forget = `mutation ($input: ForgetDeploymentsInput!) { result: forgetDeployments(input: $input) { __typename ${problem} } }`

/** An ApplicationDeployment of these components. */
function documentOf(revision: string, ...components: string[]): string {
  const list = components.map((name) => `      - name: ${name}\n        properties: { revision: ${revision} }\n`)
  return `spec:\n  applicationId: pumps\n  deploymentProfile:\n    type: helm\n    components:\n${list.join('')}`
}

describe.each(stores)('what devices should run on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  const run = async (mutation: string, input: object) => (await api.ask(mutation, { input })).result
  const put = async (deviceId: string, deploymentId: string, document: string, reason?: string) => {
    const result = await run(declare, { deployments: [{ deviceId, deploymentId, document }], reason })
    expect(result.__typename).toBe('DeclareDeploymentsSuccess')
    return result.deployments[0]
  }
  const find = async (deploymentId: string) =>
    (await api.ask(`query ($id: String!) { deployment(deploymentId: $id) { ${shown} } }`, { id: deploymentId }))
      .deployment
  const say = (reporter: string, deploymentId: string, state: string, adoptedManifestVersion: string | null) =>
    api.report({ reporter, deploymentId, state: state as 'INSTALLED', adoptedManifestVersion })

  it('has the versions before those that a restored copy of the database may have lost', async () => {
    await put('restored', 'before', documentOf('1', 'a'), 'before')
    // Versions go beyond the clock's seconds, which no lost copy can have used.
    const second = Math.floor(Date.now() / 1_000)
    await api.road.database.transaction((session) => beginEpoch(session, second * 1_000))
    await put('restored', 'after', documentOf('1', 'a'), 'after')
    const { device } = await api.ask('{ device(deviceId: "restored") { manifests { version reason } } }')
    expect(device.manifests).toEqual([
      { version: String(second + 1), reason: 'after' },
      { version: String(second), reason: expect.stringContaining('restored') },
      { version: '2', reason: 'before' },
    ])
  })

  it('is kept byte for byte, and names the application and the components in their order', async () => {
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
    const { device } = await api.ask(
      '{ device(deviceId: "gateway-1") { manifestVersion manifests { version who reason changes { deploymentId digest } } } }',
    )
    expect(device).toEqual({
      manifestVersion: '2',
      manifests: [
        {
          version: '2',
          who: 'everyone',
          reason: 'spring release',
          changes: [{ deploymentId: 'pumps-north', digest: digestOf(Buffer.from(sample)) }],
        },
      ],
    })
    const child = await api.ask('{ device(deviceId: "gateway-1/edge-7") { manifestVersion } }')
    expect(child.device.manifestVersion).toBeNull()
  })

  it('is compared with what the device says, in every relation there is', async () => {
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

  it('makes no new version of the same bytes, and one of several documents for one device', async () => {
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
    expect((await api.ask('{ device(deviceId: "twice") { manifestVersion } }')).device.manifestVersion).toBe('3')
  })

  it('is found among all that it was, by its digest', async () => {
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await put('edge-found', 'found', first)
    await put('edge-found', 'found', second)
    const one = async (digest: string) =>
      (
        await api.ask(
          `query ($digest: String!) { deployment(deploymentId: "found") {
            desiredHistory { digest } desiredDocument(digest: $digest) { content fromManifestVersion untilManifestVersion }
          } }`,
          { digest },
        )
      ).deployment
    expect(await one(digestOf(first))).toEqual({
      desiredHistory: [{ digest: digestOf(second) }, { digest: digestOf(first) }],
      desiredDocument: { content: first, fromManifestVersion: '2', untilManifestVersion: '3' },
    })
    expect((await one(digestOf(second))).desiredDocument).toMatchObject({ content: second, untilManifestVersion: null })
    expect((await one(digestOf(sample))).desiredDocument).toBeNull()
  })

  it('is in the past what it was then, however much has followed', async () => {
    await put('often', 'often', documentOf('0', 'a'))
    const { revision } = await api.ask('{ revision }')
    for (let n = 1; n <= 101; n += 1) await put('often', 'often', documentOf(String(n), 'a'))
    const asked = 'desired { content } desiredHistory { content }'
    const { now, past } = await api.ask(
      `query ($at: Revision!) { now: deployment(deploymentId: "often") { ${asked} }
        past: deployment(deploymentId: "often", atRevision: $at) { ${asked} } }`,
      { at: revision },
    )
    expect(past).toEqual({
      desired: { content: documentOf('0', 'a') },
      desiredHistory: [{ content: documentOf('0', 'a') }],
    })
    expect(now.desired.content).toBe(documentOf('101', 'a'))
    expect(now.desiredHistory).toHaveLength(100)
  })

  it('is withdrawn, and converges when it is gone', async () => {
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
    const { deployment } = await api.ask(
      '{ deployment(deploymentId: "leaving") { desiredHistory { fromManifestVersion untilManifestVersion reason content } } }',
    )
    expect(deployment.desiredHistory).toEqual([
      { fromManifestVersion: '2', untilManifestVersion: '3', reason: 'in', content: documentOf('1', 'a') },
    ])
    expect((await run(forget, { ids: [id] })).__typename).toBe('ForgetDeploymentsSuccess')
  })

  it('refuses what cannot be meant, and names where', async () => {
    const wrong =
      'id: somebody-else\nspec:\n  deploymentProfile: { type: helm, components: [{ name: a }, { name: a }] }\n'
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
    expect(await api.ask('{ device(deviceId: "g") { name } }')).toEqual({ device: null })
    await run(declare, { deployments: [{ deviceId: 'plain', deploymentId: 'plain' }] })
    const { id } = await find('plain')
    expect(await run(remove, { ids: [id] })).toMatchObject({ __typename: 'InvalidInput', path: ['ids', '0'] })
    expect(await run(remove, { ids: ['nonsense'] })).toMatchObject({ __typename: 'NotFound', path: ['ids', '0'] })
  })

  it('moves with its gateway: declared for another child it is the same deployment', async () => {
    const first = await put('mover/one', 'm', documentOf('1', 'a'))
    await api.report({
      reporter: 'mover',
      deviceId: 'mover/one',
      deploymentId: 'm',
      state: 'INSTALLED',
      adoptedManifestVersion: '2',
    })
    const second = await put('mover/two', 'm', documentOf('2', 'a'))
    expect(second).toMatchObject({ id: first.id, convergence: 'STALE', targetManifestVersion: '3' })
    await api.report({
      reporter: 'mover',
      deviceId: 'mover/two',
      deploymentId: 'm',
      state: 'INSTALLED',
      adoptedManifestVersion: '3',
    })
    const { deployments } = await api.ask(
      '{ deployments(filter: { deploymentIds: ["m"] }) { nodes { id convergence device { deviceId } } } }',
    )
    expect(deployments.nodes).toEqual([{ id: first.id, convergence: 'CONVERGED', device: { deviceId: 'mover/two' } }])
  })

  it('moves also when it was withdrawn before anybody reported on it', async () => {
    const { id } = await put('early/one', 'e', documentOf('1', 'a'))
    await run(remove, { ids: [id] })
    expect(await put('early/two', 'e', documentOf('1', 'a'))).toMatchObject({ id, targetManifestVersion: '4' })
    await api.report({
      reporter: 'early',
      deviceId: 'early/two',
      deploymentId: 'e',
      state: 'INSTALLED',
      adoptedManifestVersion: '4',
    })
    expect(await find('e')).toMatchObject({ id, convergence: 'CONVERGED' })
    // What a child has reported by itself stays its own.
    const own = await put('early/three', 'own', documentOf('1', 'a'))
    await say('early/three', 'own', 'INSTALLED', '5')
    await run(remove, { ids: [own.id] })
    expect((await put('early/four', 'own', documentOf('1', 'a'))).id).not.toBe(own.id)
  })

  it('is that of the device itself whose name begins with a slash, which is no gateway', async () => {
    await put('/odd', 'odd', documentOf('1', 'a'))
    await put('/odd/child', 'below', documentOf('1', 'a'))
    const second = Math.floor(Date.now() / 1_000)
    await api.road.database.transaction((session) => beginEpoch(session, second * 1_000))
    const asked = '{ odd: device(deviceId: "/odd") { manifestVersion } none: device(deviceId: "") { name } }'
    expect(await api.ask(asked)).toEqual({ odd: { manifestVersion: String(second) }, none: null })
  })

  it('is in one manifest at a time, also of a deployment that was moved to a device with another', async () => {
    const listed = async (deviceId: string) => {
      const asked =
        'query ($id: String!) { device(deviceId: $id) { manifests { version changes { deploymentId digest } } } }'
      return (await api.ask(asked, { id: deviceId })).device.manifests
    }
    const place = async (deviceId: string) =>
      api.report({ reporter: 'hub', deviceId, deploymentId: 'moving', state: 'INSTALLED', adoptedManifestVersion: '1' })
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await place('wing')
    const { id } = await put('wing', 'moving', first)
    await place('hub')
    const deployments = [{ deviceId: 'hub', deploymentId: 'moving', document: second }]
    expect(await run(declare, { deployments })).toMatchObject({
      __typename: 'Conflict',
      message: expect.stringContaining('moving'),
    })
    expect(await listed('hub')).toEqual([])
    await run(remove, { ids: [id] })
    const moved = await put('hub', 'moving', second)
    expect([moved.id, moved.desired]).toEqual([id, expect.objectContaining({ content: second })])
    expect(await listed('wing')).toEqual([
      { version: '3', changes: [{ deploymentId: 'moving', digest: null }] },
      { version: '2', changes: [{ deploymentId: 'moving', digest: digestOf(first) }] },
    ])
    expect(await listed('hub')).toEqual([
      { version: '2', changes: [{ deploymentId: 'moving', digest: digestOf(second) }] },
    ])
  })

  it('is kept when the history is not', async () => {
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await put('kept', 'kept', first, 'one')
    await put('kept', 'kept', second, 'two')
    const shown = async () => {
      const asked =
        '{ deployment(deploymentId: "kept") { desiredHistory { content reason } device { manifests { version reason } } } }'
      return (await api.ask(asked)).deployment
    }
    const before = await shown()
    expect(before.desiredHistory).toEqual([
      { content: second, reason: 'two' },
      { content: first, reason: 'one' },
    ])
    expect(before.device.manifests).toHaveLength(2)
    expect(await pruneHistory(api.road.database, Date.now() + 60_000, 10_000)).toBeGreaterThan(0)
    expect(await shown()).toEqual(before)
  })

  it.each(transports)('is filtered, counted and streamed as it changes over $name', async ({ name, watch }) => {
    const rollout = `fleet over ${name}`
    const devices = ['a', 'b', 'c'].map((letter) => `${letter} ${name}`)
    const wanted = (revision: string) => ({
      rollout: { name: rollout },
      deployments: devices.map((deviceId) => ({
        deviceId,
        deploymentId: `of ${name}`,
        document: documentOf(revision, 'a'),
      })),
    })
    const { deployments, revision } = await run(declare, wanted('1'))
    const ids = deployments.map(({ id }: { id: string }) => id)
    const filter = { ids }
    const counts = watch(
      api.url,
      'subscription ($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { counts { installed convergence { converged applying failed stale unknown } } } }',
      { filter },
    )
    const told = watch(
      api.url,
      `subscription ($after: Revision) { changes(after: $after, filter: { kinds: [CONVERGENCE_CHANGED] }) { change { kind ... on ConvergenceChanged {
        deploymentId fromConvergence toConvergence targetManifestVersion documentDigest deployment { device { deviceId } } } } } }`,
      { after: revision },
    )
    const seen = async () => (await counts.data()).deploymentCounts.counts
    expect(await seen()).toMatchObject({ convergence: { unknown: 3 } })
    await say(devices[0] ?? '', `of ${name}`, 'INSTALLED', '2')
    expect(await seen()).toEqual({
      installed: 1,
      convergence: { converged: 1, applying: 0, failed: 0, stale: 0, unknown: 2 },
    })
    await run(declare, wanted('2'))
    expect(await seen()).toEqual({
      installed: 1,
      convergence: { converged: 0, applying: 0, failed: 0, stale: 1, unknown: 2 },
    })
    const change = async () => (await told.data()).changes.change
    expect(await change()).toEqual({
      kind: 'CONVERGENCE_CHANGED',
      deploymentId: `of ${name}`,
      fromConvergence: 'UNKNOWN',
      toConvergence: 'CONVERGED',
      targetManifestVersion: '2',
      documentDigest: digestOf(Buffer.from(documentOf('1', 'a'))),
      deployment: { device: { deviceId: devices[0] } },
    })
    expect(await change()).toMatchObject({
      fromConvergence: 'CONVERGED',
      toConvergence: 'STALE',
      targetManifestVersion: '3',
    })
    // Only what it should run has changed.
    expect(await change()).toMatchObject({
      fromConvergence: 'UNKNOWN',
      toConvergence: 'UNKNOWN',
      targetManifestVersion: '3',
    })
    await Promise.all([counts.close(), told.close()])

    const answer = await api.ask(
      `query ($filter: DeploymentFilter) {
        deployments(filter: $filter) { totalCount nodes { convergence } }
        deploymentCounts(filter: $filter) { total convergence { stale unknown } }
        rollouts(filter: { names: ["${rollout}"] }) { nodes { convergence deploymentCounts { convergence { stale unknown } } } }
      }`,
      { filter: { ids, convergence: ['STALE'] } },
    )
    expect(answer).toEqual({
      deployments: { totalCount: 1, nodes: [{ convergence: 'STALE' }] },
      deploymentCounts: { total: 1, convergence: { stale: 1, unknown: 0 } },
      rollouts: { nodes: [{ convergence: 'STALE', deploymentCounts: { convergence: { stale: 1, unknown: 2 } } }] },
    })
    const past = await api.ask(
      `query ($at: Revision!, $filter: DeploymentFilter) {
        deploymentCounts(filter: $filter, atRevision: $at) { convergence { stale unknown } }
        deployments(filter: $filter, atRevision: $at) { nodes { targetManifestVersion desired { content } } } }`,
      { at: revision, filter },
    )
    expect(past.deploymentCounts.convergence).toEqual({ stale: 0, unknown: 3 })
    expect(past.deployments.nodes[0]).toEqual({
      targetManifestVersion: '2',
      desired: { content: documentOf('1', 'a') },
    })
  })
})
