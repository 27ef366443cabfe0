/**
 * Two fleets that differ only in what a caller does not see answer alike: every field of the schema, at the present and in the past, every subscription,
 * and every route that such a caller may ask. Otherwise an answer tells what others do, or when.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessOf } from '../../src/api/graphql/guards/access.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { transports } from '../graphql/clients.ts'
import { joinQueries, type Selected, selectEach } from './documents.ts'
import { follows, type Step } from './hidden-streams.ts'
import { routes } from './rest-routes.ts'
import { type Caller, callers, type Fleet, startFleet, timeOf, variants } from './two-fleets.ts'

/** Fields of one document. */
const joined = 40

/** What is asked about. */
interface Subject {
  readonly rollout: string
  readonly deployment: string
}

const subjects: readonly Subject[] = [
  { rollout: '{ project: "alpha", name: "spring" }', deployment: 'spring-5' },
  {
    rollout: '{ project: "alpha", compositeApp: "ca", compositeAppVersion: "v1", name: "group" }',
    deployment: 'document',
  },
]

/** Arguments of fields, in the words of a document. */
type Values = Readonly<Record<string, string>>

describe('two fleets that differ in what a caller does not see', () => {
  let fleets: readonly Fleet[] = []
  /** Node IDs, by the names of rollouts and by types. */
  let ids: Values = {}
  /** Revisions of changes that are hidden. */
  let hidden: readonly number[] = []
  /** Fields that had an answer. */
  const answered = new Set<string>()
  beforeAll(async () => {
    fleets = await Promise.all(variants.map(startFleet))
    const before = await each(newest)
    await each(async (fleet) => {
      await fleet.hide(40, 'secret-0')
      fleet.at(60)
      await fleet.report('a-1', 'spring-12', { status: { state: 'installing' } })
      await fleet.hide(70, 'secret-1')
      fleet.at(90)
    })
    const after = await each(newest)
    // Otherwise the numbers differ, which callers see.
    expect([before[0], after[0]]).toEqual([before[1], after[1]])
    hidden = [(before[0]?.revision ?? 0) + 1, after[0]?.revision ?? 0]
    const [found] = await each(({ admin }) =>
      admin(`{ rollouts(first: 50) { nodes { id name } } resources(first: 1) { nodes { __typename id } }
        reports(first: 1, filter: { deploymentIds: ["spring-5"] }) { nodes { __typename id } } }`),
    )
    ids = Object.fromEntries(
      [...found.rollouts.nodes, ...found.resources.nodes, ...found.reports.nodes].map(({ id, name, __typename }) => [
        name ?? __typename,
        `"${id}"`,
      ]),
    )
  })
  afterAll(async () => {
    for (const fleet of fleets) await fleet.close()
  })

  const each = <T>(work: (fleet: Fleet) => Promise<T>): Promise<T[]> => Promise.all(fleets.map(work))

  /** What both answer, with the headers. */
  async function ask(caller: Caller, path: string, body?: object): Promise<string> {
    const [one, other] = await each(async ({ server, keys }) => {
      const response = await fetch(`${server.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${keys.get(caller)}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = (await response.text()).replaceAll(server.url, '')
      const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(response.headers)
      return { status: response.status, headers, text }
    })
    expect.soft(other, `${path} ${JSON.stringify(body)}`).toEqual(one)
    return one?.text ?? ''
  }

  async function askEach(caller: Caller, some: readonly Selected[]): Promise<void> {
    // A refusal of one field leaves nothing of the others.
    const { refused = [], allowed = [] } = Object.groupBy(some, (one) => (isForAll(one) ? 'refused' : 'allowed'))
    for (const query of joinQueries(refused, joined)) await ask(caller, '/graphql', { query })
    for (let from = 0; from < allowed.length; from += joined) {
      const part = allowed.slice(from, from + joined)
      const [query = ''] = joinQueries(part, joined)
      const { data } = JSON.parse(await ask(caller, '/graphql', { query })) as { data?: Record<string, unknown> | null }
      if (!data && part.length > 1) for (const one of part) await askEach(caller, [one])
      for (const [index, { name }] of part.entries()) if (hasValue(data?.[`_${index}`])) answered.add(name)
    }
  }

  function fieldsAt({ rollout, deployment }: Subject, then: Values): Selected[] {
    const values: Values = {
      ...{ deploymentId: `"${deployment}"`, deviceId: '"a-1"', provider: '"p"', name: '"alpha"', key: rollout },
      ...{ ids: `[${ids.spring}, ${ids.winter}]`, text: '"spring"', points: '5', first: '50' },
      ...{ from: `"${timeOf(0)}"`, since: `"${timeOf(0)}"`, time: `"${timeOf(72)}"` },
      ...then,
    }
    const given: Readonly<Record<string, Values>> = {
      'Query.rollout': { id: '' },
      'Query.changes': { filter: `{ since: "${timeOf(10)}" }`, first: '100' },
      'Query.reports': { filter: `{ deploymentIds: ["${deployment}"] }` },
    }
    const selected = selectEach(schema, (field, argument) => {
      const own = given[field]?.[argument]
      if (own !== undefined) return own || null
      return field.startsWith('Query.') || argument === 'since' ? (values[argument] ?? null) : null
    })
    const named = Object.entries(then).map(([argument, value]) => `${argument}: ${value}`)
    return selected
      .filter(({ operation }) => operation === 'query')
      .filter(({ document }) => named.length === 0 || named.some((one) => document.includes(one)))
      .map((one) => ({
        ...one,
        document: one.document
          .replace(
            /\(id: "x"\)( \{ \.\.\. on (\w+))?/,
            (_, rest = '', type = 'spring') => `(id: ${ids[type] ?? '"x"'})${rest}`,
          )
          .replace(
            /\(representations: \["x"\]\)( \{ \.\.\. on (\w+))?/,
            (_, rest = '', type = 'Rollout') =>
              `(representations: [{ __typename: "${type}", id: ${ids[type] ?? ids.spring} }])${rest}`,
          ),
      }))
  }

  const moments: readonly (readonly [name: string, then: () => Values])[] = [
    ['now', () => ({})],
    ['between the hidden changes', () => ({ asOf: `"${timeOf(42)}"`, time: `"${timeOf(42)}"`, to: `"${timeOf(72)}"` })],
    ['at a hidden change', () => ({ atRevision: `"${hidden[0]}"` })],
  ]

  describe.each(callers)('for %s', (caller) => {
    it.each(moments)('answer alike %s', async (_, then) => {
      const [one = [], other = []] = subjects.map((subject) => fieldsAt(subject, then()))
      await askEach(caller, one)
      const known = new Set(one.map(({ document }) => document))
      await askEach(
        caller,
        other.filter(({ document }) => !known.has(document)),
      )
    })
  })

  it('answer alike over REST', async () => {
    const [, last] = hidden
    const moments = ['', `?asOf=${timeOf(42)}`, `?asOf=${timeOf(72)}`, `?atRevision=${last}`]
    const readable = routes.filter(([need, method]) => method === 'GET' && need !== 'device' && need !== 'public')
    for (const caller of callers)
      for (const [, , path] of readable)
        for (const moment of path.startsWith('/export/') ? moments : moments.slice(0, 1))
          await ask(caller, `${path}${moment}`)
  })

  it('follow every subscription', () => {
    expect(Object.keys(follows).toSorted()).toEqual(
      Object.keys(schema.getSubscriptionType()?.getFields() ?? {}).toSorted(),
    )
  })

  // What is hidden happens in one fleet before the subscriptions begin, and in the other one meanwhile.
  it.each([
    { caller: callers[0], second: 100, deployment: 'secret-2', state: 'installing', resource: null },
    { caller: callers[1], second: 150, deployment: 'secret-3', state: 'installed', resource: 'APPLIED' },
  ])('wake no subscriber with $caller', async ({ caller, second, deployment, state, resource }) => {
    const [quiet, loud] = fleets
    if (!quiet || !loud) return expect.unreachable()
    const [transport] = transports
    await each(async (fleet) => {
      fleet.at(second)
      await fleet.report('a-1', 'spring-14', { status: { state } })
    })
    await quiet.hide(second, deployment)
    const streams = fleets.map(({ server, keys }) =>
      Object.entries(follows).map(([name, { steps, document }]) => ({
        ...{ name, steps },
        stream:
          transport?.watch(`${server.url}/graphql`, `subscription { ${document} }`, {}, keys.get(caller)) ??
          expect.unreachable(),
      })),
    )
    /** The next event of each stream that the step has one for. */
    const expectAlike = async (step: Step | null): Promise<void> => {
      const [one, other] = await Promise.all(
        streams.map((some) =>
          Promise.all(
            some
              .filter(({ name, steps }) => (step ? steps.includes(step) : name !== 'changes'))
              .map(async ({ name, stream }) => [name, (await stream.data())[name]]),
          ),
        ),
      )
      // The first event names the newest revision.
      const shown = (event: unknown) =>
        JSON.stringify(event, (key, value) => (key === 'cursor' && !step ? null : value))
      for (const [index, event] of (other ?? []).entries()) expect.soft(shown(event)).toBe(shown(one?.[index]))
    }
    try {
      await expectAlike(null)
      await loud.hide(second, deployment)
      await each(async (fleet) => {
        fleet.at(second + 20)
        await fleet.report('a-1', 'spring-13', { status: { state } })
      })
      await expectAlike('deployment')
      if (!resource) return
      await each(async (fleet) => {
        fleet.at(second + 30)
        await fleet.apply('alpha', resource)
      })
      await expectAlike('resource')
    } finally {
      for (const { stream } of streams.flat()) await stream.close()
    }
  })

  it('have answers where times of the whole fleet could be', () => {
    const withTimes = [
      ...['Query.revisionAt', 'History.newestTime', 'RolloutEta.from', 'RolloutEta.low', 'ComparedPoint.seconds'],
      ...[
        'DeploymentCountsPoint.revision',
        'ResourceCountsPoint.revision',
        'DeploymentCounts.revision',
        'RolloutPace.since',
      ],
      ...['Report.receivedAt', 'Resource.changedAt', 'DesiredDocument.declaredAt', 'DeploymentStateChanged.at'],
    ]
    expect(withTimes.filter((name) => !answered.has(name))).toEqual([])
  })
})

/** Whether callers without an access scope alone may ask for the first field. */
function isForAll({ document }: Selected): boolean {
  const [, first = ''] = /^query \{ (\w+)/.exec(document) ?? []
  return accessOf(schema.getQueryType()?.getFields()[first])?.endsWith('of all') ?? false
}

function hasValue(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.values(value).some(hasValue)
    : value !== null && value !== undefined
}

async function newest({ server }: Fleet) {
  const [head] = await server.app.database.session.run<{ revision: number; next_key: number }>(
    'select revision, next_key from log_head',
  )
  return head ?? expect.unreachable()
}
