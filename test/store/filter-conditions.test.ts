/** A field of a filter without a condition: it would match nothing, and its `not` everything. */
import { sql } from 'drizzle-orm'
import { expect, it } from 'vitest'
import { toFilter } from '../../src/api/graphql/mutations/input.ts'
import { matchesChange } from '../../src/domain/change.ts'
import { type DeploymentFilter, matchesDeployment } from '../../src/store/read/filters/deployment-filter.ts'
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
})

it('is an exception, never a condition that matches nothing', () => {
  const unknown = { failureStages: ['PULL'] } as DeploymentFilter
  expect(() => matchesDeployment(unknown)).toThrow('failureStages has no condition')
  expect(() => matchesDeployment({ where: { not: unknown } } as DeploymentFilter)).toThrow()
  expect(() => matchesChange({ colours: [] } as never, {} as never)).toThrow()
})
