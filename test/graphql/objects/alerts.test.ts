import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { readRuleFile } from '../../../src/api/graphql/mutations/alert-rule-file.ts'
import { schema } from '../../../src/api/graphql/schema.ts'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { stores } from '../../support/databases/stores.ts'
import { type AppOptions, type RunningApp, startApp } from '../../support/servers/app.ts'

const running: RunningApp[] = []
afterEach(async () => {
  for (const app of running.splice(0)) await app.stop()
})

async function start(options: AppOptions): Promise<RunningApp> {
  const app = await startApp({ ...options, timeouts: { ...defaultTimeouts, duties: 200 } })
  running.push(app)
  return app
}

const send = (app: RunningApp, device: string, state: string) =>
  app.post(`/device/${device}/deployment/hello/status`, {
    deploymentId: 'hello',
    status: { state, ...(state === 'failed' && { error: { code: '1', message: 'broken' } }) },
    components: [],
  })

const save = `mutation ($input: SaveAlertRuleInput!) { saveAlertRule(input: $input) {
  __typename ... on SaveAlertRuleSuccess { rule { name threshold resolveThreshold unit severity selector labels { key value } firingCount } }
  ... on UserError { message path } } }`
const list = `query ($filter: AlertFilter, $atRevision: Revision) { alerts(filter: $filter, atRevision: $atRevision) {
  totalCount nodes { id rule state severity value summary rollout { name } raisedRevision resolution acknowledgement { by comment } } } }`

async function file(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rules-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'alerts.yaml')
  await writeFile(path, text)
  return path
}

describe.each(stores)('alerts in GraphQL on $name', (store) => {
  it('are raised by a rule, acknowledged, resolved, and shown as of any revision', async () => {
    const app = await start({ store })
    const { saveAlertRule } = await app.query(save, {
      input: {
        ...{ name: 'failed', metric: 'FAILED', threshold: 1, perRollout: true, severity: 'CRITICAL' },
        ...{ selector: { deviceIds: ['edge-1'] }, labels: [{ key: 'team', value: 'edge' }] },
      },
    })
    expect(saveAlertRule.rule).toEqual({
      ...{ name: 'failed', threshold: 1, resolveThreshold: 1, unit: 'COUNT', severity: 'CRITICAL', firingCount: 0 },
      ...{ selector: { deviceIds: ['edge-1'] }, labels: [{ key: 'team', value: 'edge' }] },
    })
    await send(app, 'edge-1', 'failed')
    const firing = { states: ['FIRING'] }
    await expect.poll(async () => (await app.query(list, { filter: firing })).alerts.totalCount).toBe(1)
    const [alert] = (await app.query(list)).alerts.nodes
    expect(alert).toMatchObject({
      ...{ rule: 'failed', state: 'FIRING', severity: 'CRITICAL', value: 1, rollout: { name: 'hello' } },
      ...{ summary: 'Failed: 1 (threshold 1)', resolution: null, acknowledgement: null },
    })
    const { acknowledgeAlert } = await app.query(
      `mutation ($id: ID!) { acknowledgeAlert(input: { id: $id, comment: "disk is replaced" }) {
        ... on AcknowledgeAlertSuccess { alert { acknowledgement { by comment } } } } }`,
      { id: alert.id },
    )
    expect(acknowledgeAlert.alert.acknowledgement).toEqual({ by: 'everyone', comment: 'disk is replaced' })
    await send(app, 'edge-1', 'installed')
    await expect.poll(async () => (await app.query(list, { filter: firing })).alerts.totalCount).toBe(0)
    const then = await app.query(list, { atRevision: alert.raisedRevision })
    expect(then.alerts.nodes).toMatchObject([
      { rule: 'failed', state: 'FIRING', resolution: null, acknowledgement: null },
    ])
    const before = await app.query(list, { atRevision: String(Number(alert.raisedRevision) - 1) })
    expect(before.alerts.totalCount).toBe(0)
    const { changes, rollouts, node } = await app.query(
      `query ($id: ID!) { changes(filter: { kinds: [ALERT_RAISED, ALERT_RESOLVED, ALERT_ACKNOWLEDGED] }) { nodes {
          kind ... on AlertRaised { alert { rule } value } ... on AlertResolved { resolution } ... on AlertAcknowledged { comment } } }
        rollouts { nodes { alerts { totalCount nodes { state } } } }
        node(id: $id) { ... on Alert { rule state } } }`,
      { id: alert.id },
    )
    expect(changes.nodes).toEqual([
      { kind: 'ALERT_RAISED', alert: { rule: 'failed' }, value: 1 },
      { kind: 'ALERT_ACKNOWLEDGED', comment: 'disk is replaced' },
      { kind: 'ALERT_RESOLVED', resolution: 'RECOVERED' },
    ])
    expect(rollouts.nodes).toEqual([{ alerts: { totalCount: 1, nodes: [{ state: 'RESOLVED' }] } }])
    expect(node).toEqual({ rule: 'failed', state: 'RESOLVED' })
  })

  it('come from a file too, whose rules only the file changes', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const rule = (name: string) => `rules:\n  - name: ${name}\n    metric: FAILED\n    threshold: 1\n`
    const names = 'query { alertRules { name origin } }'
    const first = await startApp({ on: empty, env: { ALERT_RULES: await file(rule('one')) } })
    expect((await first.query(names)).alertRules).toEqual([{ name: 'one', origin: 'FILE' }])
    const refused = await first.query(save, { input: { name: 'one', metric: 'FAILED', threshold: 2 } })
    expect(refused.saveAlertRule).toMatchObject({ __typename: 'Conflict', path: ['name'] })
    await first.stop()
    const second = await startApp({ on: empty, env: { ALERT_RULES: await file(rule('two')) } })
    expect((await second.query(names)).alertRules).toEqual([{ name: 'two', origin: 'FILE' }])
    await second.stop()
  })
})

describe('a rule', () => {
  it('is refused with every field that is wrong', async () => {
    const app = await start({})
    const { saveAlertRule } = await app.query(
      `mutation ($input: SaveAlertRuleInput!) { saveAlertRule(input: $input) { ... on InvalidInput { problems { path } } } }`,
      {
        input: {
          ...{
            name: '',
            metric: 'FAILED',
            unit: 'PERCENT',
            threshold: 120,
            resolveThreshold: 130,
            forSeconds: -1,
            minimum: 0,
          },
          ...{
            labels: [{ key: 'a b', value: '' }],
            runbookUrl: 'ftp://x',
            selector: {
              changedAfter: '2026-01-01T00:00:00Z',
              where: { or: [{ states: ['FAILED'] }, { not: { lastHeardBefore: '2026-01-01T00:00:00Z' } }] },
            },
          },
        },
      },
    )
    expect(saveAlertRule.problems.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
      ...['name', 'threshold', 'resolveThreshold', 'resolveThreshold', 'forSeconds', 'minimum'],
      ...['selector.changedAfter', 'selector.where.or.1.not.lastHeardBefore', 'labels.0.key', 'runbookUrl'],
    ])
  })

  it('with a forecast is for whole rollouts, and with a deadline for DELAY only', async () => {
    const wrong = async (fields: string): Promise<string> => {
      const text = `rules: [{ name: a, threshold: 1, ${fields} }]`
      return readRuleFile(await file(text), schema).then(
        ([given]) => JSON.stringify(given?.rule.deadline ?? null),
        (error: Error) => error.message.replace(/^.*?: /, ''),
      )
    }
    const deadline = 'deadline: "2026-12-01T06:00:00Z"'
    expect(await wrong(`metric: DELAY, perRollout: true, ${deadline}, resolveThreshold: -60`)).toBe('1796104800000')
    expect(await wrong('metric: TIME_LEFT, perRollout: true')).toBe('null')
    expect(await wrong('metric: DELAY, perRollout: true')).toBe('rules[0].deadline is required for DELAY')
    expect(await wrong(`metric: FAILED, ${deadline}`)).toBe('rules[0].deadline is for DELAY only')
    expect(await wrong('metric: TIME_LEFT, selector: { states: [FAILED], rolloutIds: [] }')).toBe(
      'rules[0].perRollout must be true for TIME_LEFT; rules[0].selector.states cannot be part of a rule with TIME_LEFT: it compares whole rollouts',
    )
  })

  it('of a file is refused with the name of its field', async () => {
    const wrong = async (text: string): Promise<string> =>
      readRuleFile(await file(text), schema).then(String, (error: Error) => error.message)
    expect(await wrong('a: [')).toMatch(/is not YAML/)
    expect(await wrong('a: 1')).toMatch(/must be YAML with a list `rules`/)
    expect(await wrong('rules: [{ name: a, metric: BROKEN, threshold: 1 }]')).toMatch(/rules\[0\]\.metric is not valid/)
    expect(await wrong('rules: [{ name: a, metric: FAILED }]')).toMatch(/rules\[0\].* is not valid: .*threshold/)
    const two = 'rules: [{ name: a, metric: FAILED, threshold: 1 }, { name: a, metric: FAILED, threshold: 0 }]'
    expect(await wrong(two)).toMatch(/rules\[1\]\.threshold must be at least 1; rules\[1\]\.name is a duplicate/)
  })
})
