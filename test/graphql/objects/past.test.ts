import type { GraphQLObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../src/api/graphql/schema.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'

const shown = `
  id deploymentId state asOf revision error { code } components { id name state revision deployment { id } }
  target { id } device { id deviceId deployments { nodes { id state } } deploymentCounts { total installing installed revision } }
  rollout { id deployments { nodes { id state asOf } } deploymentCounts { total pending installing installed revision } }
  history { totalCount nodes { revision ... on DeploymentStateChanged { deployment { id asOf } } } }
`

describe.each(stores)('the past on $name', (store) => {
  let api: Api
  // Later than the database's start, so that its history covers the first revision.
  let clock = Date.now() + 3_600_000
  const moments: {
    readonly revision: string
    readonly time: string
    readonly deployment: unknown
    readonly counts: unknown
  }[] = []

  beforeAll(async () => {
    api = await startApi({ store, road: { writer: { clock: () => clock } } })
    for (const state of ['PENDING', 'INSTALLING', 'INSTALLED'] as const) {
      clock += 60_000
      await api.report({ deploymentId: 'd-1', state, components: [{ name: 'web', state, error: null }] })
      await api.report({ deploymentId: 'd-2', reporter: 'edge-2', state })
      const { revision, deployment, deploymentCounts } = await api.ask(`{
        revision deployment(deploymentId: "d-1") { ${shown} } deploymentCounts { total pending installing installed revision }
      }`)
      moments.push({ revision, time: new Date(clock).toISOString(), deployment, counts: deploymentCounts })
    }
  })
  afterAll(() => api.close())

  const then = `query ($asOf: DateTime, $atRevision: Revision) {
    deployment(deploymentId: "d-1", asOf: $asOf, atRevision: $atRevision) { ${shown} }
    deploymentCounts(asOf: $asOf, atRevision: $atRevision) { total pending installing installed revision }
    deployments(asOf: $asOf, atRevision: $atRevision, orderBy: NAME) { totalCount nodes { id deploymentId state asOf } }
    rollout(key: { name: "d-1" }, asOf: $asOf, atRevision: $atRevision) { id deploymentCounts { total } }
  }`

  it('returns by time and by revision what was returned then, with its own IDs', async () => {
    for (const { revision, time, deployment, counts } of moments) {
      const byTime = await api.ask(then, { asOf: time })
      const byRevision = await api.ask(then, { atRevision: revision })
      expect(byTime).toEqual(byRevision)
      expect(byRevision.deploymentCounts).toEqual(counts)
      expect(byRevision.deployment.asOf).toBe(revision)
      expect(withoutIds(byRevision.deployment)).toEqual(withoutIds(deployment))
      const past = idsIn(byRevision.deployment)
      // Changes link to the present.
      expect(past.filter((id) => idsIn(deployment).includes(id))).toEqual(
        idsIn(byRevision.deployment.history).map((id) => id),
      )
    }
  })

  it('lists the rollouts of then', async () => {
    const query = `query ($asOf: DateTime, $atRevision: Revision) {
      rollouts(filter: { failing: false }, orderBy: { field: NAME, direction: ASC }, asOf: $asOf, atRevision: $atRevision) {
        totalCount nodes { name deploymentCounts { total pending installing installed } }
      } }`
    for (const [index, { revision, time }] of moments.entries()) {
      const counts = { total: 1, pending: 0, installing: 0, installed: 0 }
      const now = { ...counts, [['pending', 'installing', 'installed'][index] ?? '']: 1 }
      const { rollouts } = await api.ask(query, { atRevision: revision })
      expect(rollouts).toEqual({
        totalCount: 2,
        nodes: ['d-1', 'd-2'].map((name) => ({ name, deploymentCounts: now })),
      })
      expect(await api.ask(query, { asOf: time })).toEqual({ rollouts })
    }
  })

  it('has a beginning, an end, and a revision for each time', async () => {
    const { history, revision } = await api.ask(
      '{ revision history { oldestRevision oldestTime newestRevision newestTime epoch } }',
    )
    expect(history).toMatchObject({ newestRevision: revision, newestTime: moments.at(-1)?.time })
    expect(Number(history.epoch)).toBeLessThanOrEqual(Number(history.oldestRevision))
    for (const moment of moments) {
      const asked = 'query ($time: DateTime!) { revisionAt(time: $time) }'
      expect(await api.ask(asked, { time: moment.time })).toEqual({ revisionAt: moment.revision })
    }
    expect(await api.ask(`{ revisionAt(time: "2999-01-01T00:00:00Z") }`)).toEqual({ revisionAt: revision })
    const before = new Date(Date.parse(history.oldestTime) - 1).toISOString()
    const { errors } = await api.query(`{ revisionAt(time: "${before}") }`)
    const begins = `${before} is not part of the history that is kept, which begins at ${history.oldestTime}`
    expect(errors).toMatchObject([{ message: begins, extensions: { code: 'HISTORY_EXPIRED' } }])
    for (const [atRevision, reason] of [
      [
        Number(history.oldestRevision) - 1,
        `is not part of the history that is kept, which begins at ${history.oldestRevision}`,
      ],
      [Number(revision) + 1, `does not exist yet: the newest one is ${revision}`],
    ]) {
      const wrong = await api.query(`{ deploymentCounts(atRevision: "${atRevision}") { total } }`)
      const message = `revision ${atRevision} ${reason}`
      expect(wrong.errors).toMatchObject([{ message, extensions: { code: 'HISTORY_EXPIRED' } }])
    }
    // No number but the one that was sent.
    for (const atRevision of ['9007199254740993', '9'.repeat(40)]) {
      const wrong = await api.query(`{ deploymentCounts(atRevision: "${atRevision}") { total } }`)
      const message = `that revision does not exist yet: the newest one is ${revision}`
      expect(wrong.errors).toMatchObject([{ message, extensions: { code: 'HISTORY_EXPIRED' } }])
    }
    expect((await api.query(`{ deploymentCounts(atRevision: "${history.oldestRevision}") { total } }`)).errors).toBe(
      undefined,
    )
  })

  it('shows everything below a past object at the same revision', async () => {
    const [first] = moments
    const { deployment } = await api.ask(then, { atRevision: first?.revision })
    expect(deployment.rollout.deployments.nodes).toEqual([
      { id: deployment.id, state: 'PENDING', asOf: first?.revision },
    ])
    expect(deployment.device.deployments.nodes).toEqual([{ id: deployment.id, state: 'PENDING' }])
    expect(deployment.components[0].deployment.id).toBe(deployment.id)
    expect(deployment.history.totalCount).toBe(2)
  })

  it('is not mixed with the present or another revision in one operation', async () => {
    const [first, second] = moments
    const list = (when: string): string => `deployments(orderBy: NAME ${when}) {
      nodes { state rollout { id deploymentCounts { installed pending } } target { id } }
    }`
    const whens = ['', `atRevision: "${first?.revision}"`, `atRevision: "${second?.revision}"`]
    const alone = await Promise.all(whens.map(async (when) => (await api.ask(`{ ${list(when)} }`)).deployments))
    const together = await api.ask(`{ ${whens.map((when, index) => `at${index}: ${list(when)}`).join(' ')} }`)
    expect([together.at0, together.at1, together.at2]).toEqual(alone)
    expect(new Set(alone.map((answer) => JSON.stringify(answer))).size).toBe(3)
  })

  it('finds past objects by their IDs', async () => {
    const [, second] = moments
    const { deployment } = await api.ask(then, { atRevision: second?.revision })
    const ids = [deployment.id, deployment.components[0].id, deployment.rollout.id, deployment.device.id]
    const { nodes, rollout } = await api.ask(
      `query ($ids: [ID!]!, $rollout: ID!) {
        nodes(ids: $ids) { id ... on Deployment { state } ... on Component { state } ... on Rollout { deploymentCounts { installing } } ... on Device { deploymentCounts { installing } } }
        rollout(id: $rollout) { id deploymentCounts { installing } }
      }`,
      { ids, rollout: deployment.rollout.id },
    )
    const counts = { deploymentCounts: { installing: 1 } }
    expect(nodes).toEqual([
      { id: ids[0], state: 'INSTALLING' },
      { id: ids[1], state: 'INSTALLING' },
      { id: ids[2], ...counts },
      { id: ids[3], ...counts },
    ])
    expect(rollout).toEqual({ id: ids[2], ...counts })
  })

  it('was empty before the first report', async () => {
    const { changes } = await api.ask('{ changes(first: 1) { nodes { revision } } }')
    const before = String(Number(changes.nodes[0].revision) - 1)
    const answer = await api.ask(then, { atRevision: before })
    expect(answer).toMatchObject({
      deployment: null,
      deployments: { totalCount: 0, nodes: [] },
      deploymentCounts: { total: 0 },
      rollout: null,
    })
  })

  it('of a future time is the present', async () => {
    const answer = await api.ask(then, { asOf: '2999-01-01T00:00:00Z' })
    expect(answer.deployment).toMatchObject({ state: 'INSTALLED', asOf: moments.at(-1)?.revision })
  })

  it.each([
    [{ atRevision: '1' }, 'HISTORY_EXPIRED'],
    [{ atRevision: '9'.repeat(40) }, 'HISTORY_EXPIRED'],
    [{ asOf: '1970-01-01T00:00:00Z' }, 'HISTORY_EXPIRED'],
    [{ asOf: '2026-05-01T00:00:00Z', atRevision: '1' }, 'BAD_USER_INPUT'],
  ])('refuses %j with %s', async (variables, code) => {
    const { errors } = await api.query(then, variables)
    expect(errors?.length).toBeGreaterThan(0)
    for (const error of errors ?? []) expect(error.extensions?.code).toBe(code)
  })

  it.each(['1', '9'.repeat(40)])(
    'refuses to go on from %s, where something would be passed over in silence',
    async (after) => {
      const { errors, data } = await api.query(
        `query ($after: Revision) { changes(after: $after) { nodes { revision } } deployment(deploymentId: "d-1") { history(after: $after) { nodes { revision } } } }`,
        { after },
      )
      expect(errors?.map(({ extensions }) => extensions?.code)).toContain('HISTORY_EXPIRED')
      expect(data).toBeNull()
    },
  )

  it('has counts at many moments in one field', async () => {
    const [from, to] = [moments[0]?.time, moments[2]?.time]
    const answer = await api.ask(
      `query ($from: DateTime!, $to: DateTime!) {
        deploymentCountsOverTime(from: $from, to: $to, points: 3) {
          at revision counts { total pending installing installed revision } changes { pending installing installed }
        }
        byStep: deploymentCountsOverTime(from: $from, to: $to, step: 60) { at revision }
        byDevice: deploymentCountsOverTime(from: $from, to: $to, points: 3, filter: { deviceIds: ["edge-2"] }) { counts { total installed } changes { failed } }
        rollout(key: { name: "d-1" }) { deploymentCountsOverTime(from: $from, points: 3) { counts { total installed convergence { unknown } } } }
      }`,
      { from, to },
    )
    const changes = { pending: 0, installing: 0, installed: 0 }
    expect(answer.deploymentCountsOverTime).toEqual(
      moments.map(({ time, revision, counts }, index) => ({
        at: time,
        revision,
        counts,
        changes: [null, { ...changes, installing: 2 }, { ...changes, installed: 2 }][index],
      })),
    )
    expect(answer.byStep).toEqual(moments.map(({ time: at, revision }) => ({ at, revision })))
    expect(answer.byDevice).toEqual([0, 0, 1].map((installed) => ({ counts: { total: 1, installed }, changes: null })))
    expect(answer.rollout.deploymentCountsOverTime).toEqual(
      [0, 0, 1].map((installed) => ({ counts: { total: 1, installed, convergence: { unknown: 1 } } })),
    )
  })

  it.each([
    ['from: "1970-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z"', 'HISTORY_EXPIRED'],
    ['from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z"', 'BAD_USER_INPUT'],
    ['from: "2998-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z", points: 1', 'BAD_USER_INPUT'],
    ['from: "2998-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z", points: 501', 'BAD_USER_INPUT'],
    ['from: "2998-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z", step: 0', 'BAD_USER_INPUT'],
    ['from: "2998-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z", step: 60', 'BAD_USER_INPUT'],
  ])('refuses a series of %s with %s', async (args, code) => {
    const { errors } = await api.query(`{ deploymentCountsOverTime(${args}) { at } }`)
    expect(errors).toMatchObject([{ extensions: { code } }])
  })

  it('has the reporter of now, in the rows, filters and counts of then', async () => {
    await api.road.writer.submit(
      declareDeployments(null, [
        {
          deviceId: 'hall/one',
          deploymentId: 'claimed',
          application: null,
          applicationVersion: null,
          components: null,
        },
      ]),
    )
    const { revision } = await api.ask('{ revision }')
    await api.report({ reporter: 'hall', deviceId: 'hall/one', deploymentId: 'claimed', state: 'INSTALLED' })
    const reported = await api.ask(
      `query ($filter: DeploymentFilter, $atRevision: Revision) {
        deployments(filter: $filter, atRevision: $atRevision) { totalCount nodes { reporter state } }
        deploymentCounts(filter: $filter, atRevision: $atRevision) { total } }`,
      { filter: { reporters: ['hall'] }, atRevision: revision },
    )
    expect(reported).toEqual({
      deployments: { totalCount: 1, nodes: [{ reporter: 'hall', state: 'PENDING' }] },
      deploymentCounts: { total: 1 },
    })
    const fields = (schema.getType('Deployment') as GraphQLObjectType).getFields()
    expect(fields.reporter?.description).toContain('Always the present value')
  })

  it('refuses a past ID together with another time', async () => {
    const { rollout } = await api.ask(then, { atRevision: moments[0]?.revision })
    const { errors } = await api.query('query ($id: ID, $r: Revision) { rollout(id: $id, atRevision: $r) { id } }', {
      id: rollout.id,
      r: moments[1]?.revision,
    })
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })
})

function idsIn(value: unknown): string[] {
  const found = JSON.stringify(value).matchAll(/"id":"([^"]+)"/g)
  return [...found].map(([, id = '']) => id)
}

/** Fields that differ on purpose between past and present. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, member) => (key === 'id' || key === 'asOf' ? undefined : member)))
}
