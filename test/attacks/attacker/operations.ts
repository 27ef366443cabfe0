/** Operations that a client would send, with arguments at and beyond their limits. Documents from the schema alone rarely reach what lies behind several arguments. */
import type { RandomRequest } from '../random-document.ts'
import type { Random } from './random.ts'
import { insideUrls, sinkMutations } from './sink-operations.ts'

const deployment = 'id deploymentId state device { deviceId } components { name state error { message } }'
const D = `query ($f: DeploymentFilter, $after: String) {
  deployments(filter: $f, first: 20, after: $after) { totalCount nodes { ${deployment} } pageInfo { endCursor } }
  deploymentCounts(filter: $f) { total failed } }`
const V =
  'query ($f: DeviceFilter) { devices(filter: $f, first: 20) { totalCount nodes { id deviceId labels { key value } } } }'
const S =
  'query ($t: String!, $k: [SearchKind!], $n: Int!) { search(text: $t, kinds: $k, first: $n) { name match kind node { id __typename } } }'
const O = `query ($from: DateTime!, $to: DateTime, $p: Int, $s: Int, $f: DeploymentFilter) {
  deploymentCountsOverTime(from: $from, to: $to, points: $p, step: $s, filter: $f) { at revision counts { total failed } } }`
const N = `query ($ids: [ID!]!) { nodes(ids: $ids) { id __typename
  ... on Deployment { ${deployment} history(first: 5) { nodes { at } } reports(first: 5) { nodes { id } } }
  ... on Report { deployment { id } parts: components { name } } ... on Alert { rule value rollout { name } } ... on Device { deviceId } ... on Rollout { name } } }`
const P = `query ($f: DeploymentFilter, $n: Int) { revision
  deployments(filter: $f, first: $n) { nodes @stream(initialCount: 2) { id ... @defer { rollout { name } device { deviceId } } } }
  ... @defer(label: "counts") { deploymentCounts(filter: $f) { total } } }`
const E = `query ($all: [_Any!]!) { _entities(representations: $all) { __typename
  ... on Device { deviceId connectivity deployments(first: 5) { nodes { id state } } } ... on Deployment { ${deployment} }
  ... on Rollout { name } ... on Report { id verdict } ... on Alert { rule value } } }`
const R =
  'query ($f: ReportFilter!) { reports(filter: $f, first: 20) { totalCount nodes { id verdict components { name } deployment { deploymentId } } } }'
const A = `query ($f: AlertFilter, $at: Revision) {
  alerts(filter: $f, first: 20, atRevision: $at) { totalCount nodes { id rule value summary rollout { name } acknowledgement { comment } } } }`
const C =
  'query ($after: Revision, $f: ChangeFilter) { changes(after: $after, first: 50, filter: $f) { nodes { revision at __typename } } }'
const L =
  'subscription ($after: Revision, $f: ChangeFilter) { changes(after: $after, filter: $f) { cursor reset { __typename } change { __typename at } } }'
const save =
  'mutation ($i: SaveAlertRuleInput!) { saveAlertRule(input: $i) { __typename ... on UserError { message path } } }'
const drop = 'mutation ($i: DeleteAlertRuleInput!) { deleteAlertRule(input: $i) { __typename } }'
const acknowledge =
  'mutation ($i: AcknowledgeAlertInput!) { acknowledgeAlert(input: $i) { __typename ... on AcknowledgeAlertSuccess { alert { id rule } } } }'
const notify = 'mutation ($i: CreateAlertmanagerInput!) { createAlertmanager(input: $i) { __typename } }'
const viewer =
  '{ viewer { name roles scopes expiresAt } history { oldestTime newestRevision } deviceCounts { total } clusters(first: 5) { nodes { id } } }'

const texts = [
  'd-',
  'part-1',
  'EDGE',
  'edge-7',
  '%',
  '_',
  '\\',
  'İ',
  'ﬀ',
  '\u0307',
  '\u{10ffff}',
  'a\0',
  '\ud800',
  "'",
  ' ',
  '',
  'x'.repeat(200),
  'x'.repeat(201),
]
const times = ['1970-01-01T00:00:00Z', '0000-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59', '2026-01-01T00:00:00Z']
const numbers = [-1, 0, -0, 0.5, 1, 2, 50, 100, 101, 600.5, 1e15, 2 ** 53, 1e308]
const whole = [null, -1, 0, 1, 2, 60, 500, 501, 2 ** 31 - 1]
const now = (offset: number): string => new Date(Date.now() + offset).toISOString()

function listOf(random: Random, make: () => unknown): unknown[] {
  return Array.from({ length: random.choose([0, 1, 1, 2, 5]) }, make)
}

function label(random: Random): object {
  const condition = random.choose(['equals', 'in', 'notIn', 'exists', 'prefix', 'prefix'])
  const text = random.choose(['a', 'b', '', '%', 'a\0', '"{}'])
  const value =
    condition === 'exists' ? random.chance(50) : condition.endsWith('n') || condition.endsWith('In') ? [text] : text
  return { key: random.choose(['tenant', 'site', 'a\0', '%', '\ud800']), [condition]: value }
}

/** A part of a selector. `depth`: 8 is beyond the limit. */
function where(random: Random, isDevice: boolean, depth: number): object {
  const inner = (): object => where(random, isDevice, depth - 1)
  if (depth > 0 && random.chance(60)) {
    const operator = random.choose(['and', 'or', 'not'])
    return { [operator]: operator === 'not' ? inner() : listOf(random, inner) }
  }
  const own = isDevice
    ? [{ registered: true }, { connectivity: ['ONLINE'] }, { failing: random.chance(50) }, { models: ['m-1'] }]
    : [
        { states: ['FAILED'] },
        { hasError: true },
        { stalled: false },
        { components: ['part-1'] },
        { errorCodes: ['E42'] },
        { reporters: ['edge-7'] },
      ]
  return random.choose<object>([
    ...own,
    { label: label(random) },
    { text: random.choose(texts) },
    { deviceIds: listOf(random, () => random.choose(texts)) },
    { rolloutIds: listOf(random, () => nodeId(random)) },
    { lastHeardAfter: random.choose(times) },
  ])
}

function filter(random: Random, isDevice = false): object {
  return {
    where: where(random, isDevice, random.choose([1, 2, 3, 8])),
    ...(random.chance(20) && { text: random.choose(texts) }),
  }
}

function nodeId(random: Random): string {
  const type = random.choose(['Deployment', 'Component', 'Rollout', 'Device', 'Cluster', 'Resource', 'Report', 'Alert'])
  const key = random.chance(90) ? random.below(5_000) : random.choose(['9007199254740993', '-0', '1.5', '1@5', '9e99'])
  const name = random.choose(['', '', ':1', `:${random.below(5_000)}`, ':part-1', '@1'])
  return Buffer.from(`${type}:${key}${name}`).toString('base64url')
}

/** What a gateway sends, and what none would. */
function representation(random: Random): unknown {
  if (random.chance(20))
    return random.choose<unknown>([null, 'x', 7, [], {}, { __typename: '__proto__' }, { __typename: 7 }])
  if (random.chance(40))
    return { __typename: 'Device', deviceId: random.choose<unknown>(['edge-7', 'edge-1', ...texts, 7]) }
  const __typename = random.choose([
    'Deployment',
    'Device',
    'Rollout',
    'Component',
    'Report',
    'Alert',
    'Sink',
    'ApiKey',
  ])
  return { __typename, id: random.choose<unknown>([nodeId(random), nodeId(random), 'x', null, {}]) }
}

function rule(random: Random): object {
  return {
    name: random.choose(['r-1', 'r-2', 'r-3', '__proto__', 'constructor']),
    metric: random.choose(['FAILED', 'STALLED', 'OFFLINE', 'NOT_CONVERGED', 'NO_PROGRESS', 'SUCCESS_RATE', 'DELAY']),
    unit: random.choose(['COUNT', 'COUNT', 'PERCENT']),
    threshold: random.choose(numbers),
    perRollout: random.chance(40),
    ...(random.chance(10) && {
      deadline: random.choose(['2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '0001-01-01']),
    }),
    ...(random.chance(30) && { resolveThreshold: random.choose(numbers), minimum: random.choose(whole) }),
    ...(random.chance(40) && { selector: filter(random) }),
    ...(random.chance(20) && { labels: [{ key: random.choose(['__proto__', 'team', 'a b']), value: 'x\n' }] }),
  }
}

function moments(random: Random): object {
  const from = random.chance(70) ? now(-random.choose([0, 100, 5_000])) : random.choose(times)
  const to = random.choose([null, now(0), now(-1_000), now(1_000), ...times])
  return {
    from,
    to,
    p: random.choose(whole),
    s: random.choose([null, null, ...whole]),
    f: random.chance(60) ? null : filter(random),
  }
}

interface Known {
  readonly query: string
  readonly variables: (random: Random) => object
}

const f = (random: Random): object => ({ f: filter(random) })
const queries: readonly Known[] = [
  { query: D, variables: f },
  {
    query: D,
    variables: (random) => ({ f: random.choose([null, { states: ['FAILED'] }, { text: random.choose(texts) }]) }),
  },
  { query: V, variables: (random) => ({ f: filter(random, true) }) },
  {
    query: S,
    variables: (random) => ({
      t: random.choose(texts),
      n: random.choose([0, 1, 20, 100, 101]),
      k: random.choose([null, [], ['DEVICE']]),
    }),
  },
  { query: O, variables: moments },
  { query: N, variables: (random) => ({ ids: Array.from({ length: 1 + random.below(10) }, () => nodeId(random)) }) },
  {
    query: P,
    variables: (random) => ({ f: random.choose([null, filter(random)]), n: random.choose([1, 20, 100, 101]) }),
  },
  {
    query: E,
    variables: (random) => ({
      all: Array.from({ length: random.choose([0, 1, 5, 20, 1_000, 1_001]) }, () => representation(random)),
    }),
  },
  {
    query: R,
    variables: (random) => ({
      f: {
        deploymentIds: listOf(random, () => `d-${random.below(500)}`),
        ...(random.chance(50) && { verdicts: ['APPLIED', 'STALE'] }),
      },
    }),
  },
  {
    query: A,
    variables: (random) => ({
      f: random.choose([null, { states: ['FIRING'] }, { rules: ['r-1', '%'], acknowledged: false }]),
      at: random.choose([null, 'begin', '1']),
    }),
  },
  {
    query: C,
    variables: (random) => ({
      after: random.choose(['begin', null, '1']),
      f: random.choose([null, { where: where(random, false, 2) }]),
    }),
  },
  { query: viewer, variables: () => ({}) },
]
const mutations: readonly Known[] = [
  { query: save, variables: (random) => ({ i: rule(random) }) },
  { query: drop, variables: (random) => ({ i: { name: random.choose(['r-1', 'r-2', '__proto__']) } }) },
  {
    query: acknowledge,
    variables: (random) => ({
      i: {
        id: random.chance(80) ? Buffer.from(`Alert:${random.below(9_000)}`).toString('base64url') : nodeId(random),
        comment: random.choose(['seen', 'a\0', '\ud800']),
      },
    }),
  },
  {
    query: notify,
    variables: (random) => ({ i: { name: random.choose(['am', '']), url: random.choose(insideUrls) } }),
  },
  ...sinkMutations,
]
const subscriptions: readonly Known[] = [
  {
    query: L,
    variables: (random) => ({
      after: random.choose(['begin', null]),
      f: random.choose([null, { where: where(random, false, 2) }]),
    }),
  },
]

const known = { Query: queries, Mutation: mutations, Subscription: subscriptions } as const

export function knownOperation(random: Random, root: keyof typeof known): RandomRequest {
  const { query, variables } = random.choose(known[root])
  return { query, variables: variables(random) as RandomRequest['variables'] }
}
