/** All changes of deployments have one interface. A revision has what was and what is. */
import type { GraphQLInterfaceType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../src/api/graphql/schema.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { stores } from '../../support/databases/stores.ts'
import { alpha, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const revised = `... on DeploymentRevised { fromApplication fromApplicationVersion fromRollout { name }
  application applicationVersion rollout { name } }`

describe('DeploymentChange', () => {
  it('is an interface of every change of a deployment, and of no other', () => {
    const names = schema.getPossibleTypes(schema.getType('DeploymentChange') as GraphQLInterfaceType)
    expect(names.map(({ name }) => name).toSorted()).toEqual([
      'ComponentRemoved',
      'ComponentStateChanged',
      'ConvergenceChanged',
      'DeploymentForgotten',
      'DeploymentMoved',
      'DeploymentRevised',
      'DeploymentStalled',
      'DeploymentStateChanged',
    ])
  })
})

describe.each(stores)('changes of deployments on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich')
    await register(api, 'hidden-1', 'oslo')
  })
  afterAll(() => api.close())

  const declare = (name: string, project: string, application: string, applicationVersion: string) =>
    api.road.writer.submit(
      declareDeployments({ name, project }, [
        { deviceId: 'm-1', deploymentId: 'pump', application, applicationVersion, components: null },
      ]),
    )
  const changes = async (selection: string, as?: string) =>
    (
      await api.ask(
        `{ changes(first: 100, filter: { deploymentIds: ["pump"] }) { nodes { kind ${selection} } } }`,
        {},
        as,
      )
    ).changes.nodes

  it('say which deployment, device and rollout changed, in one fragment', async () => {
    await declare('first', 'hidden', 'nginx', '1.0')
    const { deployment } = await api.ask('{ deployment(deploymentId: "pump") { id } }')
    const common = { device: { deviceId: 'm-1' }, deploymentId: 'pump', deployment: { id: deployment.id } }
    const fields = '... on DeploymentChange { deploymentId deployment { id } device { deviceId } rollout { name } }'
    expect(await changes(fields)).toEqual([
      { kind: 'DEPLOYMENT_STATE_CHANGED', ...common, rollout: { name: 'first' } },
      { kind: 'DEPLOYMENT_REVISED', ...common, rollout: { name: 'first' } },
    ])
  })

  it('say what a revision changed', async () => {
    await declare('second', 'alpha', 'nginx', '2.0')
    await declare('second', 'alpha', 'caddy', '2.0')
    const all = (await changes(revised)).filter(({ kind }: { kind: string }) => kind === 'DEPLOYMENT_REVISED')
    const was = (application: string | null, version: string | null, rollout: string | null) => ({
      fromApplication: application,
      fromApplicationVersion: version,
      fromRollout: rollout === null ? null : { name: rollout },
    })
    expect(all).toMatchObject([
      { ...was(null, null, null), application: 'nginx', applicationVersion: '1.0', rollout: { name: 'first' } },
      { ...was('nginx', '1.0', 'first'), application: 'nginx', applicationVersion: '2.0', rollout: { name: 'second' } },
      { ...was('nginx', '2.0', null), application: 'caddy', applicationVersion: '2.0', rollout: { name: 'second' } },
    ])
  })

  it('hide what was from a caller that did not see it', async () => {
    const [first] = await changes(revised, alpha)
    expect(first).toMatchObject({ fromApplication: null, fromApplicationVersion: null, fromRollout: null })
    expect(first).toMatchObject({ application: 'nginx', rollout: { name: 'second' } })
    const seen = await changes(revised, munich)
    expect(seen[2]).toMatchObject({ fromApplicationVersion: '1.0', fromRollout: { name: 'first' } })
  })

  it('have the device and the rollout of that time for a caller that no longer sees the deployment', async () => {
    await api.report({ reporter: 'm-1', deviceId: 'hidden-1', deploymentId: 'pump', state: 'INSTALLED' })
    const fields = '... on DeploymentChange { device { deviceId } rollout { name } deployment { device { deviceId } } }'
    const seen = await changes(fields, munich)
    expect(seen).toHaveLength(4)
    expect(seen.every(({ device }: { device: object }) => JSON.stringify(device) === '{"deviceId":"m-1"}')).toBe(true)
    expect(JSON.stringify(seen)).not.toContain('hidden-1')
    const [all] = (await changes(fields)).slice(-1)
    expect(all).toMatchObject({ device: { deviceId: 'hidden-1' }, rollout: { name: 'second' } })
    const { deployments } = await api.ask('{ deployments(filter: { deploymentIds: ["pump"] }) { nodes { id } } }')
    const key = Number(Buffer.from(deployments.nodes[0].id, 'base64url').toString().split(':')[1])
    await api.road.writer.submit(forgetDeployments([key]))
    expect((await changes(fields)).at(-1)).toMatchObject({ kind: 'DEPLOYMENT_FORGOTTEN', rollout: { name: 'second' } })
  })

  it('name the actor of a lifecycle action', async () => {
    const name = deploymentIntentGroup('p', 'app', 'v1', 'dig') as LifecycleRolloutName
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    await api.road.writer.submit(recordActions(name, [{ ...fact, state: 'CREATED' }], 'the orchestrator'))
    const input = `{ rollout: { project: "p", compositeApp: "app", compositeAppVersion: "v1", name: "dig" }, state: APPROVED }`
    await api.ask(`mutation { recordAction(input: ${input}) { __typename } }`, {}, 'reporter+viewer')
    const answer = await api.ask(`{
      rollouts(filter: { names: ["dig"] }) { nodes { actions { state actor } } }
      changes(first: 10, filter: { kinds: [LIFECYCLE_ACTION_RECORDED] }) { nodes { ... on LifecycleActionRecorded { action { actor } } } } }`)
    const actions = [
      { state: 'CREATED', actor: 'the orchestrator' },
      { state: 'APPROVED', actor: 'reporter+viewer' },
    ]
    expect(answer.rollouts.nodes).toEqual([{ actions }])
    expect(answer.changes.nodes).toEqual(actions.map(({ actor }) => ({ action: { actor } })))
  })
})
