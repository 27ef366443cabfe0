/**
 * Outside a caller's access scope nothing exists: a fleet in Munich and Oslo, in projects alpha and beta. A caller with
 * a scope must not be able to detect anything outside it. The tests search responses for the word "hidden", which all
 * such objects contain.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { setRolloutLabels } from '../../../src/ingest/commands/rollout-labels.ts'
import { documentOf } from '../../support/clients/desired.ts'
import { stores } from '../../support/databases/stores.ts'
import { alpha, both, declare, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const state = `deployments { nodes { deploymentId reporter state target { name } device { deviceId parent { deviceId } } rollout { name project deploymentCounts { total installed pending } } history { totalCount } reports { totalCount } } totalCount pageInfo { hasNextPage } }
  deploymentCounts { total pending installing installed failed removing removed }
  devices { nodes { deviceId connectivity children { totalCount } deploymentCounts { total } } totalCount }
  rollouts { nodes { name project deployments { nodes { deploymentId } totalCount } deploymentCounts { total } } totalCount }
  changes(first: 100) { totalCount nodes { kind at ... on DeploymentMoved { fromTarget { name } toTarget { name } deployment { deploymentId } } ... on DeploymentStateChanged { deploymentId from to deployment { state } } } }`

describe.each(stores)('a caller with an access scope on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich', 'hidden-gateway')
    await register(api, 'm-2', 'munich')
    await register(api, 'hidden-1', 'oslo')
    await declare(api, 'seen', 'alpha', [
      ['m-1', 'pump'],
      ['m-2', 'fan'],
    ])
    await declare(api, 'hidden-rollout', 'beta', [
      ['hidden-1', 'pump'],
      ['hidden-1', 'hidden-valve'],
    ])
    for (const [name, project, deviceId, deploymentId, reason] of [
      ['seen', 'alpha', 'm-1', 'pump', 'for alpha'],
      ['hidden-rollout', 'beta', 'hidden-1', 'pump', 'hidden'],
    ])
      await api.ask(
        `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }`,
        {
          input: { rollout: { name, project }, deployments: [{ deviceId, deploymentId, components: ['web'] }], reason },
        },
        'operator',
      )
    await api.report({ reporter: 'm-1', deploymentId: 'pump', state: 'INSTALLED' })
    await api.report({ reporter: 'hidden-1', deploymentId: 'pump', state: 'FAILED' })
    await api.report({ reporter: 'hidden-1', deploymentId: 'hidden-undeclared', state: 'INSTALLED' })
  })
  afterAll(() => api.close())

  it.each([munich, alpha, both])('%s sees only its scope in lists and counts', async (who) => {
    const seen = await api.ask(`{ ${state} }`, {}, who)
    expect(JSON.stringify(seen)).not.toContain('hidden')
    expect(seen.deployments).toMatchObject({ totalCount: 2, pageInfo: { hasNextPage: false } })
    expect(seen.deploymentCounts).toEqual({
      ...{ total: 2, pending: 1, installing: 0, installed: 1, failed: 0, removing: 0, removed: 0 },
    })
    expect(seen.devices.nodes.map(({ deviceId }: { deviceId: string }) => deviceId)).toEqual(['m-1', 'm-2'])
    expect(seen.rollouts).toMatchObject({ totalCount: 1, nodes: [{ name: 'seen', deploymentCounts: { total: 2 } }] })
    expect(seen.changes).toMatchObject({ totalCount: 4 })
    expect(seen.changes.nodes).toHaveLength(4)
  })

  it('sees the newest declaration of the rollouts that it sees as a whole', async () => {
    const seen = `{ newestDeclaration { reason rollout { name } } rollouts(filter: { kinds: [DECLARED] }) { nodes { name newestDeclaration { reason } } } }`
    const declared = { reason: 'for alpha', rollout: { name: 'seen' } }
    const nodes = (reason: object | null) => ({ nodes: [{ name: 'seen', newestDeclaration: reason }] })
    expect(await api.ask(seen, {}, alpha)).toEqual({
      ...{ newestDeclaration: declared, rollouts: nodes({ reason: 'for alpha' }) },
    })
    for (const who of [munich, both])
      expect(await api.ask(seen, {}, who)).toEqual({ newestDeclaration: null, rollouts: nodes(null) })
    expect((await api.ask(seen, {}, 'viewer')).newestDeclaration).toMatchObject({ reason: 'hidden' })
  })

  it.each([munich, alpha, both])('%s finds nothing outside its scope by name or ID', async (who) => {
    const ids = await api.ask(`{
      deployment(deploymentId: "hidden-valve") { id } device(deviceId: "hidden-1") { id }
      rollout(key: { name: "hidden-rollout", project: "beta" }) { id } revision }`)
    const of = { ids: [ids.deployment.id, ids.device.id, ids.rollout.id] }
    expect(
      await api.ask(
        `query ($ids: [ID!]!) { nodes(ids: $ids) { id }
          deployment(deploymentId: "hidden-valve") { id }
          one: deployment(deploymentId: "pump") { state }
          none: deployment(deploymentId: "pump", deviceId: "hidden-1") { state }
          device(deviceId: "hidden-1") { id }
          gateway: device(deviceId: "hidden-gateway") { id }
          rollout(key: { name: "hidden-rollout", project: "beta" }) { id }
          deployments(filter: { ids: $ids }) { totalCount }
          inRollout: deployments(filter: { rolloutIds: $ids }) { totalCount }
          deploymentCounts(filter: { deviceIds: ["hidden-1"] }) { total }
          changes(filter: { deviceIds: ["hidden-1"] }) { totalCount }
          ofRollout: changes(filter: { rolloutIds: $ids }) { totalCount } }`,
        of,
        who,
      ),
    ).toEqual({
      ...{ nodes: [null, null, null], deployment: null, one: { state: 'INSTALLED' }, none: null, device: null },
      ...{ gateway: null, rollout: null, deployments: { totalCount: 0 }, inRollout: { totalCount: 0 } },
      ...{ deploymentCounts: { total: 0 }, changes: { totalCount: 0 }, ofRollout: { totalCount: 0 } },
    })
  })

  it.each([munich, alpha, both])(
    '%s learns nothing outside its scope from a selector and its opposite',
    async (who) => {
      const selectors = [
        '{ deviceIds: ["hidden-1"] }',
        '{ states: [FAILED] }',
        '{ label: { key: "site", prefix: "os" } }',
        '{ or: [{ text: "hidden" }, { reporters: ["m-1"] }] }',
        '{ lastHeardBefore: "2999-01-01T00:00:00Z", deploymentIds: ["pump"] }',
      ]
      for (const selector of selectors) {
        const { some, others } = await api.ask(
          `{ some: deployments(filter: { where: ${selector} }) { totalCount nodes { deploymentId device { deviceId } } }
          others: deployments(filter: { where: { not: ${selector} } }) { totalCount nodes { deploymentId device { deviceId } } } }`,
          {},
          who,
        )
        expect(JSON.stringify([some, others])).not.toContain('hidden')
        expect(some.totalCount + others.totalCount).toBe(2)
        expect(some.nodes.length + others.nodes.length).toBe(2)
      }
    },
  )

  it.each([munich, alpha, both])('%s finds no device by what it may not see of it', async (who) => {
    const hidden = [
      'parents: ["hidden-gateway"]',
      'failing: true',
      'text: "hidden"',
      'where: { or: [{ parents: ["hidden-gateway"] }, { deviceIds: ["hidden-1"] }] }',
      'where: { not: { failing: false } }',
    ]
    for (const filter of hidden) {
      const { devices } = await api.ask(`{ devices(filter: { ${filter} }) { totalCount nodes { deviceId } } }`, {}, who)
      expect([filter, devices]).toEqual([filter, { totalCount: 0, nodes: [] }])
    }
  })

  it('gets only matches in its scope for an ambiguous ID', async () => {
    const { errors } = await api.query('{ deployment(deploymentId: "pump") { id } }')
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'AMBIGUOUS' } })
    await api.report({ reporter: 'm-2', deploymentId: 'pump', state: 'PENDING' })
    const narrowed = await api.query('{ deployment(deploymentId: "pump") { id } }', {}, munich)
    expect(narrowed.errors?.[0]).toMatchObject({ extensions: { code: 'AMBIGUOUS' } })
    expect(narrowed.errors?.[0]?.message).toContain('2 deployments have the ID pump')
    expect(JSON.stringify(narrowed)).not.toContain('hidden')
    const id = await api.ask('{ deployment(deploymentId: "pump", deviceId: "m-2") { id } }')
    const { keysOf } = await import('../../../src/api/graphql/objects/node.ts')
    await api.road.writer.submit(forgetDeployments(keysOf('Deployment', [id.deployment.id]) ?? []))
  })

  it('sees a deployment that enters its scope from then on, and loses one that leaves', async () => {
    await api.report({ reporter: 'gw', deviceId: 'hidden-1', deploymentId: 'wanderer', state: 'FAILED' })
    const before = await api.ask('{ revision }')
    await register(api, 'hidden-1', 'oslo')
    const list =
      '{ deployments(filter: { deploymentIds: ["wanderer"] }) { nodes { state history(first: 100) { nodes { kind ... on DeploymentMoved { fromTarget { name } toTarget { name } } } totalCount } reports { totalCount } } } }'
    expect((await api.ask(list, {}, munich)).deployments.nodes).toEqual([])
    await api.report({ reporter: 'gw', deviceId: 'm-2', deploymentId: 'wanderer', state: 'INSTALLED' })
    const there = await api.ask('{ revision }')
    expect((await api.ask(list, {}, munich)).deployments.nodes).toEqual([
      {
        state: 'INSTALLED',
        history: {
          nodes: [
            { kind: 'DEPLOYMENT_MOVED', fromTarget: null, toTarget: { name: 'm-2' } },
            { kind: 'DEPLOYMENT_STATE_CHANGED' },
          ],
          totalCount: 2,
        },
        reports: { totalCount: 1 },
      },
    ])
    await api.report({ reporter: 'gw', deviceId: 'hidden-1', deploymentId: 'wanderer', state: 'INSTALLED' })
    expect((await api.ask(list, {}, munich)).deployments.nodes).toEqual([])
    const past = `query ($at: Revision) { deployments(atRevision: $at, filter: { deploymentIds: ["wanderer"] }) { nodes { state target { name } rollout { name } history { totalCount } } }
      deploymentCounts(atRevision: $at, filter: { deploymentIds: ["wanderer"] }) { total } }`
    expect(await api.ask(past, { at: there.revision }, munich)).toEqual({
      deployments: {
        nodes: [
          { state: 'INSTALLED', target: { name: 'm-2' }, rollout: { name: 'wanderer' }, history: { totalCount: 2 } },
        ],
      },
      deploymentCounts: { total: 1 },
    })
    expect((await api.ask(past, { at: before.revision }, munich)).deploymentCounts).toEqual({ total: 0 })
    // Changes from the time in scope stay visible, with the deployment as it was then.
    const changes = await api.ask(
      `query ($after: Revision) { changes(first: 100, after: $after) { nodes { kind ... on DeploymentMoved { deployment { target { name } } toTarget { name } } ... on DeploymentStateChanged { deployment { target { name } } } } } }`,
      { after: before.revision },
      munich,
    )
    expect(changes.changes.nodes).toEqual([
      { kind: 'DEPLOYMENT_MOVED', deployment: { target: { name: 'm-2' } }, toTarget: { name: 'm-2' } },
      { kind: 'DEPLOYMENT_STATE_CHANGED', deployment: { target: { name: 'm-2' } } },
    ])
  })

  it('sees only the name of a target that its project has left, and only in the past', async () => {
    await register(api, 'm-3', 'munich')
    await declare(api, 'seen', 'alpha', [['m-3', 'mover']])
    const { revision: at } = await api.ask('{ revision }')
    await declare(api, 'hidden-other', 'beta', [['m-3', 'mover']])
    const target = '{ device(deviceId: "m-3") { labels { key } } }'
    expect(await api.ask(target, {}, munich)).toEqual({ device: { labels: [{ key: 'site' }] } })
    expect(await api.ask(target, {}, alpha)).toEqual({ device: null })
    const past = `query ($at: Revision) { deployment(deploymentId: "mover", atRevision: $at) { rollout { name } device { deviceId labels { key } connectivity } } }`
    expect(await api.ask(past, { at }, alpha)).toEqual({
      deployment: { rollout: { name: 'seen' }, device: { deviceId: 'm-3', labels: [], connectivity: 'UNKNOWN' } },
    })
  })

  it('sees of a rollout that its deployments have left nothing from then on, not as of a revision either', async () => {
    await register(api, 'm-3', 'munich')
    const rollout = await declare(api, 'hidden-labels', 'alpha', [
      ['m-3', 'guest'],
      ['hidden-1', 'host'],
    ])
    const { revision: there } = await api.ask('{ revision }')
    await declare(api, 'seen', 'alpha', [['m-3', 'guest']])
    await api.road.writer.submit(setRolloutLabels(rollout.rolloutKey ?? 0, [{ key: 'later', value: 'x' }], null))
    const { revision: gone } = await api.ask('{ revision }')
    const query = `query ($at: Revision, $id: ID!) { node(id: $id) { ... on Rollout { labels { key } } }
      rollout(key: { name: "hidden-labels", project: "alpha" }, atRevision: $at) { labels { key } } }`
    const read = (at: string, who: string) => {
      const id = Buffer.from(`Rollout:${rollout.rolloutKey}@${at}`).toString('base64url')
      return api.ask(query, { at, id }, who)
    }
    const nothing = { labels: [] }
    const later = { labels: [{ key: 'later' }] }
    expect(await read(there, munich)).toEqual({ node: nothing, rollout: nothing })
    expect(await read(gone, munich)).toEqual({ node: null, rollout: null })
    expect(await read(gone, both)).toEqual({ node: null, rollout: null })
    expect(await read(gone, alpha)).toEqual({ node: later, rollout: later })
  })

  it('sees the desired state of its scope with author and reason, and no other project on the same device', async () => {
    await register(api, 'm-3', 'munich')
    const want = (project: string, deploymentId: string) =>
      api.ask('mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }', {
        input: {
          rollout: { name: `wanted by ${project}`, project },
          deployments: [{ deviceId: 'm-3', deploymentId, document: documentOf(deploymentId) }],
          reason: `for ${deploymentId}`,
        },
      })
    await want('alpha', 'press')
    await want('beta', 'hidden-press')
    await want('alpha', 'lathe')
    const manifests = async (who: string) =>
      (
        await api.ask(
          '{ device(deviceId: "m-3") { manifestHistory { nodes { version reason changes { deploymentId } } } } }',
          {},
          who,
        )
      ).device.manifestHistory.nodes
    const said = (version: string, deploymentId: string) => ({
      version,
      reason: `for ${deploymentId}`,
      changes: [{ deploymentId }],
    })
    expect(await manifests(alpha)).toEqual([said('4', 'lathe'), said('2', 'press')])
    expect(await manifests('viewer')).toEqual([said('4', 'lathe'), said('3', 'hidden-press'), said('2', 'press')])
    const content = '{ deployment(deploymentId: "press") { desired { content } } }'
    expect((await api.ask(content, {}, 'operator/project:alpha')).deployment.desired.content).toBe(documentOf('press'))
    await expect(api.ask(content, {}, alpha)).rejects.toThrow('needs the role operator')
    expect(await api.ask('{ deployment(deploymentId: "hidden-press") { id } }', {}, 'operator/project:alpha')).toEqual({
      deployment: null,
    })
  })

  it('counts as many as it lists, whatever is asked', async () => {
    for (const who of [munich, alpha, both, 'viewer/label:site=nowhere'])
      for (const filter of [
        '{}',
        '{ states: [INSTALLED, PENDING] }',
        '{ text: "p" }',
        '{ labels: [{ key: "site", value: "oslo" }] }',
      ]) {
        const seen = await api.ask(
          `{ deployments(first: 100, filter: ${filter}) { nodes { id } totalCount } deploymentCounts(filter: ${filter}) { total } }`,
          {},
          who,
        )
        const listed = seen.deployments.nodes.length
        expect(seen.deployments.totalCount, `${who} ${filter}`).toBe(listed)
        expect(seen.deploymentCounts.total, `${who} ${filter}`).toBe(listed)
      }
  })
})
