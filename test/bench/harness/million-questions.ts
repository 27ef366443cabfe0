/** What the benchmark `million` asks: each filter alone and in pairs, in each order, first, middle and last page, counted, and in the past. */

export interface Question {
  readonly name: string
  readonly group: 'filter' | 'pair' | 'past count' | 'past list' | 'series' | 'changes' | 'groups'
  readonly query: string
  readonly variables: object
}

type Filter = Readonly<Record<string, unknown>>

export interface Moments {
  readonly oldest: number
  readonly newest: number
  /** Node IDs of the large rollout and of a small one. */
  readonly large: string
  readonly small: string
}

const orders = ['CHANGED_DESC', 'CHANGED_ASC', 'NAME', 'STATE'] as const

function filtersAt({ oldest, newest, large, small }: Moments): Readonly<Record<string, Filter>> {
  const time = (share: number): string => new Date(oldest + (newest - oldest) * share).toISOString()
  return {
    'state failed': { states: ['FAILED'] },
    'state installed': { states: ['INSTALLED'] },
    'state pending (none)': { states: ['PENDING'] },
    'error code, common': { errorCodes: ['E_DISK'] },
    'error code, rare': { errorCodes: ['E_RARE'] },
    'error code, none': { errorCodes: ['E_NONE'] },
    'has error': { hasError: true },
    'has no error': { hasError: false },
    'component, common': { components: ['database'] },
    'component, a fifth': { components: ['ui'] },
    'component, none': { components: ['nothing'] },
    'text, one device': { text: 'edge-4711' },
    'text, part of a name': { text: '-471' },
    'text, none': { text: 'nothing-like-it' },
    application: { applications: ['app-of-7'] },
    'application, none': { applications: ['nothing'] },
    'application version': { applicationVersions: ['1.1'] },
    'convergence stale': { convergence: ['STALE'] },
    'convergence unknown': { convergence: ['UNKNOWN'] },
    'not consistent (none)': { consistent: false },
    'readiness ready (none)': { readiness: ['READY'] },
    'derived state failed': { derivedStates: ['FAILED'] },
    'label, one of 200 sites': { labels: [{ key: 'site', value: 'site-7' }] },
    'label, canary': { label: { key: 'ring', equals: 'canary' } },
    'label, not prod': { label: { key: 'env', notIn: ['prod'] } },
    offline: { connectivity: ['OFFLINE'] },
    'changed in the last hour': { changedAfter: new Date(newest - 3_600_000).toISOString() },
    'changed in the second half': { changedAfter: time(0.5) },
    'changed in the first half': { changedBefore: time(0.5) },
    'changed in the first tenth': { changedBefore: time(0.1) },
    'last heard long ago (none)': { lastHeardBefore: time(0) },
    'one device': { deviceIds: ['edge-4711'] },
    'one deployment ID': { deploymentIds: ['app-77'] },
    'small rollout': { rolloutIds: [small] },
    'large rollout': { rolloutIds: [large] },
    stalled: { stalled: true },
    'model (none)': { models: ['nothing'] },
  }
}

const page = (order: string, where: string): string =>
  `query ($filter: DeploymentFilter) { deployments(filter: $filter, orderBy: ${order}, ${where}) { nodes { id state components { name } } pageInfo { endCursor startCursor } } }`
const count = 'query ($filter: DeploymentFilter) { deployments(filter: $filter, first: 0) { totalCount } }'
const counts = `query ($filter: DeploymentFilter, $asOf: DateTime) { deploymentCounts(filter: $filter, asOf: $asOf) { total failed } }`
const listPast = `query ($filter: DeploymentFilter, $asOf: DateTime) { deployments(filter: $filter, asOf: $asOf, first: 20) { nodes { id state } } }`
const series = `query ($from: DateTime!, $to: DateTime!, $filter: DeploymentFilter) { deploymentCountsOverTime(from: $from, to: $to, points: 60, filter: $filter) { at counts { total } } }`

export function questions(moments: Moments): Question[] {
  const filters = Object.entries(filtersAt(moments))
  const { oldest, newest } = moments
  const half = new Date((oldest + newest) / 2).toISOString()
  const some = new Set([
    'state failed',
    'error code, common',
    'has error',
    'label, one of 200 sites',
    'one device',
    'small rollout',
    'large rollout',
    'convergence stale',
    'application',
  ])
  const alone = filters.flatMap(([name, filter]): Question[] => [
    ...orders.flatMap((order): Question[] => [
      { name: `${name}, ${order}, first`, group: 'filter', query: page(order, 'first: 20'), variables: { filter } },
      { name: `${name}, ${order}, last`, group: 'filter', query: page(order, 'last: 20'), variables: { filter } },
    ]),
    { name: `${name}, count`, group: 'filter', query: count, variables: { filter } },
    { name: `${name}, counts`, group: 'filter', query: counts, variables: { filter } },
  ])
  const pairs = filters.flatMap(([a, first], index) =>
    filters.slice(index + 1).flatMap(([b, second], later): Question[] => {
      const variables = { filter: { where: { and: [first, second] } } }
      const order = orders[(index + later) % orders.length] ?? 'NAME'
      return [
        {
          name: `${a} · ${b}, ${order}`,
          group: 'pair',
          query: page(order, later % 2 === 0 ? 'first: 20' : 'last: 20'),
          variables,
        },
        { name: `${a} · ${b}, count`, group: 'pair', query: count, variables },
      ]
    }),
  )
  const past = [['fleet', undefined] as const, ...filters.filter(([name]) => some.has(name))].flatMap(
    ([name, filter]): Question[] => [
      {
        name: `${name}, counts half the log ago`,
        group: 'past count',
        query: counts,
        variables: { filter, asOf: half },
      },
      {
        name: `${name}, list half the log ago`,
        group: 'past list',
        query: listPast,
        variables: { filter, asOf: half },
      },
    ],
  )
  const seriesOf = (name: string, from: number, filter?: Filter): Question => ({
    name: `60 points of ${name}`,
    group: 'series',
    query: series,
    variables: { from: new Date(from).toISOString(), to: new Date(newest).toISOString(), filter },
  })
  const day = 86_400_000
  return [
    ...alone,
    ...pairs,
    ...past,
    seriesOf('the fleet, all time', oldest),
    seriesOf('the fleet, one day', newest - day),
    seriesOf('those with an error code, all time', oldest, { errorCodes: ['E_DISK'] }),
    seriesOf('the large rollout, all time', oldest, { rolloutIds: [moments.large] }),
    seriesOf('a small rollout, all time', oldest, { rolloutIds: [moments.small] }),
    ...['COMPONENT', 'ERROR', 'APPLICATION_VERSION', 'TARGET', 'ROLLOUT', 'MANIFEST_VERSION', 'CONVERGENCE'].flatMap(
      (by): Question[] =>
        [undefined, { states: ['FAILED'] }, { rolloutIds: [moments.small] }].map((filter, index) => ({
          name: `groups by ${by}, ${['all', 'failed', 'small rollout'][index]}`,
          group: 'groups',
          query: `query ($filter: DeploymentFilter) { deploymentGroups(by: ${by}, filter: $filter, first: 20) { nodes { key counts { total } } } }`,
          variables: { filter },
        })),
    ),
    ...(
      [
        ['all', {}],
        ['failures', { states: ['FAILED'] }],
        ['one device', { deviceIds: ['edge-4711'] }],
        ['no such device', { deviceIds: ['nothing'] }],
        ['connectivity', { kinds: ['CONNECTIVITY_CHANGED'] }],
        ['small rollout', { rolloutIds: [moments.small] }],
      ] as const
    ).flatMap(([name, filter]): Question[] =>
      ['first: 20', 'last: 20'].map((where) => ({
        name: `changes, ${name}, ${where}`,
        group: 'changes',
        query: `query ($filter: ChangeFilter) { changes(filter: $filter, ${where}) { nodes { revision kind } } }`,
        variables: { filter },
      })),
    ),
  ]
}
