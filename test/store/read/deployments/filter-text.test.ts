/** The text of a statement is made in one turn of the event loop. So it does not grow with the lists of a filter. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, it } from 'vitest'
import { maxSelectorParts } from '../../../../src/domain/selectors/selector.ts'
import { deploymentStates } from '../../../../src/domain/values.ts'
import { type AlertFilter, countAlerts } from '../../../../src/store/alerts/alerts.ts'
import type { Session } from '../../../../src/store/database.ts'
import { selectFacets } from '../../../../src/store/read/counts/facet-counts.ts'
import {
  type DeploymentFilter,
  matchesDeployment,
  onTarget,
} from '../../../../src/store/read/filters/deployment-filter.ts'
import { rangeChoices } from '../../../../src/store/read/filters/index-ranges.ts'
import { targetsByIndex } from '../../../../src/store/read/filters/target-filter.ts'

const dialect = new PgDialect()
const texts = (n: number) => Array.from({ length: n }, (_, i) => `p+value-${i}`)

const filters: readonly [string, (n: number) => DeploymentFilter][] = [
  ['labels', (n) => ({ labels: texts(n).map((value) => ({ key: value, value })) })],
  ['values of a label', (n) => ({ label: { key: 'site', in: texts(n) } })],
  ['values that a label has not', (n) => ({ label: { key: 'site', notIn: texts(n) } })],
  ['clusters', (n) => ({ clusters: texts(n) })],
  ['components', (n) => ({ components: texts(n) })],
  ['applications', (n) => ({ applications: texts(n), applicationVersions: texts(n) })],
  ['error codes', (n) => ({ errorCodes: texts(n) })],
  ['names', (n) => ({ components: texts(n).map((text) => text.slice(2)) })],
]

function textsOf(filter: DeploymentFilter): string[] {
  const ranges = rangeChoices(filter, filter).flatMap((choice) => choice.map(({ rows }) => rows(1)))
  const targets = targetsByIndex(onTarget, filter).map(({ keys }) => keys)
  return [matchesDeployment(filter), ...ranges, ...targets].map((statement) => dialect.sqlToQuery(statement).sql)
}

it.each(filters)('does not grow with %s', (_, filterOf) => {
  const lengths = [101, 10_000].map((n) => textsOf(filterOf(n)).map(({ length }) => length))
  expect(lengths[1]).toEqual(lengths[0])
})

it.each(filters)('compares no row with each of many %s', (_, filterOf) => {
  // Only `= any` uses a hash.
  for (const text of textsOf(filterOf(10_000))) expect(text).not.toMatch(/&&|@> any|@> wanted|strpos/)
})

it('does not grow with the strings that the log is searched for', () => {
  const [few, all] = [3, 10_000].map(
    (n) => dialect.sqlToQuery(selectFacets({ names: ['a'], strings: texts(n) }, null)).sql.length,
  )
  expect(all).toBe(few)
})

const rangesOf = (filter: DeploymentFilter) => rangeChoices(filter, filter).map(({ length }) => length)
const parts = <T>(part: T) => Array.from({ length: maxSelectorParts }, () => part)

it('has at most 400 ranges', () => {
  for (const where of [
    { and: parts({ derivedStates: deploymentStates }) },
    { or: parts({ derivedStates: deploymentStates }) },
  ])
    expect(rangesOf({ where }).reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(400)
  expect(rangesOf({ where: { or: parts({ text: 'shop' }) } })).toEqual([400])
})

it('has a range for each value of an enum, however often it is listed', () => {
  const states = Array.from({ length: 5_000 }, () => ['FAILED', 'PENDING'] as const).flat()
  expect(rangesOf({ states })).toEqual([2])
})

it('has a condition for each state of alerts, however often it is listed', async () => {
  const lengths: number[] = []
  const rows = async (statement: SQL): Promise<[]> => {
    lengths.push(dialect.sqlToQuery(statement).sql.length)
    return []
  }
  const states: AlertFilter['states'] = ['FIRING', 'RESOLVED']
  for (const times of [1, 5_000]) {
    const filter = { states: Array.from({ length: times }, () => states).flat() }
    await countAlerts({ rows } as Partial<Session> as Session, { of: 'all' }, filter, null)
  }
  expect(lengths).toEqual([lengths[0], lengths[0]])
})
