/** A field of a filter without a condition: it would match nothing, and its `not` everything. */
import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { matchesChange } from '../../src/domain/nouns/change.ts'
import { type FilterDeclaration, type FilterOf, flag, keys, texts } from '../../src/domain/nouns/filter.ts'
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

const shapeFilter = {
  name: 'Shape',
  one: 'a shape',
  many: 'shapes',
  isFlat: true,
  conditions: { ids: keys('Shape', 'IDs.'), colours: texts('Colours.'), large: flag('Size.') },
} as const satisfies FilterDeclaration
type ShapeFilter = FilterOf<typeof shapeFilter>

it('is refused by the compiler, where a declaration has a field and its table of conditions does not', () => {
  const own = { keys: () => sql`true`, colours: () => sql`true` }
  // @ts-expect-error: the table has no condition for `large`.
  const conditions: Conditions<ShapeFilter> = own
  // @ts-expect-error: the filter has no field `corners`.
  const filter: ShapeFilter = { corners: 4 }
  // @ts-expect-error: a field of another type.
  const other: ShapeFilter = { large: 'yes' }
  // @ts-expect-error: IDs of the API are keys inside.
  const byId: ShapeFilter = { ids: [] }
  expect([filter, other, byId]).toHaveLength(3)
  expect(() => conditionsIn(conditions, { large: true })).toThrow('large has no condition')
  const all: Conditions<ShapeFilter> = { ...own, large: () => sql`true` }
  const { colours: _, ...left } = { colours: [], large: true, corners: 4 }
  // @ts-expect-error: the table has no condition for `corners`, which is left over.
  expect(() => conditionsIn(all, left)).toThrow('corners has no condition')
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
