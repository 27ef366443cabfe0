/** A field of a filter without a condition: it would match nothing, and its `not` everything. */
import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { toFilter } from '../../src/api/graphql/mutations/input.ts'
import { matchesChange } from '../../src/domain/change.ts'
import { countAlerts } from '../../src/store/alerts/alerts.ts'
import type { Session } from '../../src/store/database.ts'
import { countAuditLog } from '../../src/store/read/api-access.ts'
import { matchesChangeRow } from '../../src/store/read/changes/rows.ts'
import { matchesDeployment } from '../../src/store/read/filters/deployment-filter.ts'
import { matchesResource } from '../../src/store/read/filters/resource-filter.ts'
import { countFleetReports } from '../../src/store/read/reports/reports.ts'
import { matchesRollout } from '../../src/store/read/rollouts/rollout-filter.ts'
import { countClusters } from '../../src/store/read/targets/clusters.ts'
import { countDevices } from '../../src/store/read/targets/targets.ts'
import { type Conditions, conditionsIn } from '../../src/store/sql/conditions.ts'

interface Filter {
  readonly colours?: readonly string[]
  readonly large?: boolean
}
const input: { colours?: string[] | null; large?: boolean | null; shapes?: string[] | null } = { shapes: ['round'] }

it('is refused by the compiler, in a table of conditions and where an input becomes a filter', () => {
  // @ts-expect-error: the table has no condition for `large`.
  const conditions: Conditions<Filter> = { colours: () => sql`true` }
  // @ts-expect-error: the filter has no field `shapes`.
  const filter: Filter = toFilter(input)
  // @ts-expect-error: nor if more is spread into it.
  const more: Filter = toFilter({ ...input, large: true })
  // @ts-expect-error: a field of another type.
  const other: Filter = toFilter({ large: 'yes' })
  const { shapes: _, ...rest } = input
  const known: Filter = toFilter({ ...rest, large: true, colours: null })
  expect(known).toEqual({ large: true })
  expect(() => conditionsIn(conditions, { large: true })).toThrow('large has no condition')
  expect([filter, more, other]).toHaveLength(3)
  const all: Conditions<Filter> = { colours: () => sql`true`, large: () => sql`true` }
  const { colours: __, ...left } = { colours: [], large: true, shapes: ['round'] }
  // @ts-expect-error: the table has no condition for `shapes`, which is left over.
  expect(() => conditionsIn(all, left)).toThrow('shapes has no condition')
})

/** It is never asked: the exception comes before. */
const session = {} as Session
const compiled: Readonly<Record<string, (filter: object) => unknown>> = {
  deployments: (filter) => matchesDeployment(filter),
  devices: (filter) => countDevices(session, { of: 'fleet' }, filter),
  rollouts: (filter) => matchesRollout(session, filter),
  resources: (filter) => matchesResource(filter, null),
  changes: (filter) => matchesChangeRow(session, filter),
  'changes of a stream': (filter) => matchesChange(filter, {} as never),
}
const flat: Readonly<Record<string, (filter: object) => unknown>> = {
  clusters: (filter) => countClusters(session, filter),
  alerts: (filter) => countAlerts(session, { of: 'all' }, filter, null),
  reports: (filter) => countFleetReports(session, filter),
  'the audit log': (filter) => countAuditLog(session, filter),
}

it.each(Object.keys({ ...compiled, ...flat }))('is an exception in a filter of %s', async (name) => {
  const compile = { ...compiled, ...flat }[name]
  const unknown = { stages: ['PULL'] }
  await expect(async () => compile?.(unknown)).rejects.toThrow('stages has no condition')
  if (name in compiled)
    await expect(async () => compile?.({ where: { not: unknown } })).rejects.toThrow('stages has no condition')
})
