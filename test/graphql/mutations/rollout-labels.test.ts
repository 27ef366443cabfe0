import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeRows } from '../../../src/api/export/kinds/changes.ts'
import type { Label } from '../../../src/domain/target.ts'
import { describeChanges } from '../../../src/outlets/sinks/change-data.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { stores } from '../../support/databases/stores.ts'
import { alpha, both, munich, register } from '../access-scope-fleet.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const declare = `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) {
  __typename
  ... on DeclareDeploymentsSuccess { revision rollout { id name labels { key value selfReported } } }
  ... on InvalidInput { problems { path message } }
} }`
const set = `mutation ($input: SetRolloutLabelsInput!) { setRolloutLabels(input: $input) {
  __typename
  ... on SetRolloutLabelsSuccess { revision rollout { labels { key value } } }
  ... on UserError { message path }
  ... on InvalidInput { problems { path message } }
} }`
const dev: Label = { key: 'env', value: 'dev' }
const prod: Label = { key: 'env', value: 'prod' }
const team: Label = { key: 'team', value: 'a' }

describe.each(stores)('the labels of rollouts on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
  })
  afterAll(() => api.close())

  const declareIn = async (name: string, labels: readonly Label[] | null, more: object = {}) =>
    (
      await api.ask(declare, {
        input: { rollout: { name, labels, ...more }, deployments: [{ deviceId: `on-${name}`, deploymentId: name }] },
      })
    ).declareDeployments
  const setTo = async (rolloutId: string, labels: readonly Label[], ifRevision?: string) =>
    (await api.ask(set, { input: { rolloutId, labels, ...(ifRevision !== undefined && { ifRevision }) } }))
      .setRolloutLabels
  const labelsOf = async (name: string, atRevision: number | null = null): Promise<readonly Label[] | null> =>
    (
      await api.ask(
        `query ($name: String!, $atRevision: Revision) {
          rollout(key: { name: $name }, atRevision: $atRevision) { labels { key value } }
        }`,
        { name, atRevision: atRevision === null ? null : String(atRevision) },
      )
    ).rollout?.labels ?? null

  it('are set with a declaration and by themselves, in the order of their keys, and stay where they are not given', async () => {
    const declared = await declareIn('ovens', [team, dev])
    expect(declared.rollout.labels).toEqual([dev, team].map((label) => ({ ...label, selfReported: false })))
    expect((await declareIn('ovens', null)).rollout.labels).toHaveLength(2)
    expect(await setTo(declared.rollout.id, [prod])).toMatchObject({ rollout: { labels: [prod] } })
    expect(await labelsOf('ovens')).toEqual([prod])
    expect(await labelsOf('ovens', Number(declared.revision))).toEqual([dev, team])
    expect(await setTo(declared.rollout.id, [])).toMatchObject({ rollout: { labels: [] } })
    expect((await declareIn('ovens', [])).rollout.labels).toEqual([])
    // Of a rollout that is not declared, too.
    await api.report({ deploymentId: 'implicit' })
    const { rollout } = await api.ask('{ rollout(key: { name: "implicit" }) { id labels { key } } }')
    expect(rollout.labels).toEqual([])
    expect(await setTo(rollout.id, [dev])).toMatchObject({ rollout: { labels: [dev] } })
  })

  it('are in the log as they were and as they are, and equal labels are no change', async () => {
    const { rollout } = await declareIn('fans', [dev])
    const first = await setTo(rollout.id, [team, prod])
    const again = await setTo(rollout.id, [prod, team])
    expect(again.revision).toBe(first.revision)
    expect((await declareIn('fans', [team, prod])).revision).toBe(first.revision)
    const { changes } = await api.ask(
      `query ($id: ID!) { changes(filter: { kinds: [ROLLOUT_LABELS_CHANGED], rolloutIds: [$id] }) { nodes {
        revision kind ... on RolloutLabelsChanged { rollout { name } fromLabels { key value } toLabels { key value } }
      } } }`,
      { id: rollout.id },
    )
    expect(changes.nodes).toMatchObject([
      { rollout: { name: 'fans' }, fromLabels: [], toLabels: [dev] },
      { revision: first.revision, kind: 'ROLLOUT_LABELS_CHANGED', fromLabels: [dev], toLabels: [prod, team] },
    ])
    const { rollout: seen } = await api.ask(`query ($id: ID!) { rollout(id: $id) { changedRevision } }`, {
      id: rollout.id,
    })
    expect(seen.changedRevision).toBe(first.revision)
    const { session } = api.road.database
    const [change] = (await readLog(session, Number(first.revision) - 1, 1)) ?? []
    if (!change) throw new Error('the log has no such change')
    const told = { fromLabels: [dev], toLabels: [prod, team] }
    const declared = { kind: 'DECLARED', name: 'fans' }
    expect(await describeChanges(session, [change])).toMatchObject([{ rollout: declared, ...told }])
    const whole = await api.road.database.snapshot()
    const [exported] = await changeRows({ scoped: whole, whole }, {}, [change]).finally(() => whole.close())
    expect(exported).toMatchObject({ kind: 'ROLLOUT_LABELS_CHANGED', from: null, to: null, details: told })
  })

  it('are refused with all problems, for an unknown rollout, and after they changed', async () => {
    const { rollout } = await declareIn('doors', [dev])
    const { revision: read } = await api.ask('{ revision }')
    const wrong = [dev, prod, { key: '', value: 'x'.repeat(257) }]
    const paths = ['labels.1.key', 'labels.2.key', 'labels.2.value']
    const pathsOf = ({ problems }: { readonly problems: readonly { readonly path: readonly string[] }[] }) =>
      problems.map(({ path }) => path.join('.')).toSorted()
    expect(pathsOf(await setTo(rollout.id, wrong))).toEqual(paths)
    expect(pathsOf(await declareIn('doors', wrong))).toEqual(paths.map((path) => `rollout.${path}`))
    const many = Array.from({ length: 101 }, (_, n) => ({ key: `k${n}`, value: '' }))
    expect(await setTo(rollout.id, many)).toMatchObject({ __typename: 'InvalidInput', path: ['labels'] })
    const device = Buffer.from('Device:1').toString('base64url')
    for (const id of [device, 'nothing', Buffer.from('Rollout:999999').toString('base64url')])
      expect(await setTo(id, [dev])).toMatchObject({ __typename: 'NotFound', path: ['rolloutId'] })
    expect(await setTo(rollout.id, [prod], read)).toMatchObject({ rollout: { labels: [prod] } })
    expect(await setTo(rollout.id, [team], read)).toMatchObject({ __typename: 'Conflict', path: ['ifRevision'] })
    const future = String(Number(read) + 1_000)
    expect(await setTo(rollout.id, [team], future)).toMatchObject({ __typename: 'Conflict', path: ['ifRevision'] })
    expect(await labelsOf('doors')).toEqual([prod])
    const { rollout: bare } = await declareIn('bare', null)
    expect(await setTo(bare.id, [dev], 'begin')).toMatchObject({ rollout: { labels: [dev] } })
    expect(await setTo(bare.id, [prod], 'begin')).toMatchObject({ __typename: 'Conflict', path: ['ifRevision'] })
  })

  it('reach the subscribers of the rollout', async () => {
    const { rollout } = await declareIn('lamps', [dev])
    const [transport] = transports
    if (!transport) throw new Error('there is no transport')
    const stream = transport.watch(
      api.url,
      `subscription ($id: ID!) { rollout(id: $id) { rollout { labels { value } } changes { kind } } }`,
      { id: rollout.id },
    )
    try {
      expect(await stream.data()).toMatchObject({ rollout: { rollout: { labels: [{ value: 'dev' }] } } })
      await setTo(rollout.id, [prod])
      expect(await stream.data()).toMatchObject({
        rollout: { rollout: { labels: [{ value: 'prod' }] }, changes: [{ kind: 'ROLLOUT_LABELS_CHANGED' }] },
      })
    } finally {
      await stream.close()
    }
  })

  it('are seen only by readers who see the rollout', async () => {
    for (const [deviceId, site] of [
      ['on-seen', 'munich'],
      ['on-unseen', 'oslo'],
    ] as const)
      await register(api, deviceId, site)
    const hidden: Label = { key: 'hidden', value: 'hidden' }
    const seen = await declareIn('seen', [dev], { project: 'alpha' })
    const unseen = await declareIn('unseen', [hidden], { project: 'beta' })
    await setTo(seen.rollout.id, [prod])
    await setTo(unseen.rollout.id, [hidden, team])
    for (const who of [munich, alpha, both]) {
      const found = await api.ask(
        `query ($unseen: ID!) {
          rollouts { nodes { labels { key value } } }
          byLabel: rollouts(filter: { rolloutLabel: { key: "hidden" } }) { totalCount }
          rollout(id: $unseen) { labels { key } }
          changes(filter: { kinds: [ROLLOUT_LABELS_CHANGED] }) { nodes { ... on RolloutLabelsChanged { fromLabels { key value } toLabels { key value } } } }
        }`,
        { unseen: unseen.rollout.id },
        who,
      )
      expect(found).toEqual({
        rollouts: { nodes: [{ labels: [prod] }] },
        byLabel: { totalCount: 0 },
        rollout: null,
        changes: {
          nodes: [
            { fromLabels: [], toLabels: [dev] },
            { fromLabels: [dev], toLabels: [prod] },
          ],
        },
      })
    }
    for (const who of ['viewer', 'reporter', 'operator/project:alpha']) {
      const answer = await api.query(set, { input: { rolloutId: seen.rollout.id, labels: [] } }, who)
      expect(JSON.stringify(answer)).toMatch(/"code":"FORBIDDEN"|"__typename":"Forbidden"/)
    }
    const { rollout } = await api.ask('query ($id: ID!) { rollout(id: $id) { labels { key value } } }', {
      id: seen.rollout.id,
    })
    expect(rollout.labels).toEqual([prod])
  })

  it('are forgotten with the history that had them', async () => {
    const { rollout } = await declareIn('old', [dev])
    await setTo(rollout.id, [prod])
    const { session } = api.road.database
    const rows = () =>
      session.run(
        "select labels from rollout_labels join rollouts on key = rollout_key where name = 'old' order by since",
      )
    expect(await rows()).toEqual([{ labels: [dev] }, { labels: [prod] }])
    while ((await pruneHistory(api.road.database, Date.now() + 1_000, 1_000)) > 0);
    expect(await rows()).toEqual([{ labels: [prod] }])
    expect(await labelsOf('old')).toEqual([prod])
    // What came after the removed history has its past.
    const kept = await declareIn('kept', [dev])
    await setTo(kept.rollout.id, [prod])
    await pruneHistory(api.road.database, 0, 1_000)
    expect(await labelsOf('kept', Number(kept.revision))).toEqual([dev])
  })
})
