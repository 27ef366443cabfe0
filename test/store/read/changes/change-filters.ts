/** Filters of changes of the fleet that history.ts makes. */
import fc from 'fast-check'
import type { Change } from '../../../../src/domain/change.ts'
import type { ChangeCondition, ChangeFilter } from '../../../../src/domain/nouns/change.ts'
import type { LabelCondition } from '../../../../src/domain/selectors/label-condition.ts'
import { deploymentStates } from '../../../../src/domain/values.ts'
import { componentNames, deploymentIds, devices, errorCodes } from '../history.ts'

export function filtersOf(rolloutKeys: readonly number[], times: readonly number[]): fc.Arbitrary<ChangeFilter> {
  const conditions = conditionsOf(rolloutKeys, times)
  const single = conditions.map((condition) => Object.fromEntries(Object.entries(condition).slice(0, 1)))
  const { selector } = fc.letrec<{ selector: NonNullable<ChangeFilter['where']> }>((tie) => ({
    selector: fc.oneof(
      { maxDepth: 3 },
      single,
      fc.record({ and: fc.array(tie('selector'), { maxLength: 3 }) }),
      fc.record({ or: fc.array(tie('selector'), { maxLength: 3 }) }),
      fc.record({ not: tie('selector') }),
      fc.tuple(single, tie('selector')).map(([condition, not]) => ({ ...condition, not })),
    ),
  }))
  return fc.oneof(
    conditions,
    fc.record({ where: selector }),
    fc.tuple(single, selector).map(([condition, where]) => ({ ...condition, where })),
  )
}

function conditionsOf(rolloutKeys: readonly number[], times: readonly number[]): fc.Arbitrary<ChangeCondition> {
  const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.array(fc.constantFrom(...values), { maxLength: 3 })
  const record = fc.record(
    {
      kinds: some<Change['kind']>([
        'DEPLOYMENT_STATE_CHANGED',
        'COMPONENT_STATE_CHANGED',
        'COMPONENT_REMOVED',
        'DEPLOYMENT_MOVED',
        'DEPLOYMENT_REVISED',
        'DEPLOYMENT_FORGOTTEN',
        'CONNECTIVITY_CHANGED',
      ]),
      deploymentIds: some([...deploymentIds, 'unknown']),
      deviceIds: some([...devices, 'unknown']),
      rolloutKeys: some(rolloutKeys),
      instanceIds: some(['x']),
      components: some([...componentNames, 'nothing']),
      to: some(deploymentStates),
      labels: some([
        { key: 'site', value: 'north' },
        { key: 'line', value: '1' },
      ]),
      label: fc.constantFrom<LabelCondition>(
        { key: 'site' },
        { key: 'site', equals: 'north' },
        { key: 'site', in: ['south', 'x'] },
        { key: 'site', notIn: ['south'] },
        { key: 'line', exists: false },
        { key: 'site', prefix: 'n' },
        { key: '\0', notIn: ['x'] },
      ),
      errorCodes: some([...errorCodes, 'none']),
      since: fc.constantFrom(...times),
      before: fc.constantFrom(...times),
    },
    { requiredKeys: [] },
  )
  // Mostly one field, or hardly anything would match.
  return fc.oneof(
    fc.constant({}),
    record,
    fc.tuple(record, fc.nat()).map(([filter, index]) => {
      const fields = Object.entries(filter)
      const field = fields[index % Math.max(fields.length, 1)]
      return field ? (Object.fromEntries([field]) as ChangeCondition) : {}
    }),
  )
}
