/** What can happen to a gateway's deployments and devices, as fast-check draws it. */
import fc from 'fast-check'
import { deploymentStates } from '../../../src/domain/values.ts'
import { tenants } from './tenant-model.ts'

const device = fc.constantFrom('gw/1', 'gw/2', 'gw/3')
const id = fc.constantFrom('d-1', 'd-1', 'd-2')
const rollout = fc.constantFrom('r-1', 'r-2')
const parts = fc.uniqueArray(fc.constantFrom('x', 'y'), { maxLength: 2 })
const said = { device, id, state: fc.constantFrom(...deploymentStates), fails: fc.boolean(), parts }

export const command = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('report' as const), ...said }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('late' as const), ...said }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('declare' as const), rollout, device, id, parts }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('maintain' as const),
      devices: fc.uniqueArray(device, { minLength: 1 }),
      window: fc.constantFrom(null, 'power', 'roof'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), number: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('label' as const), device, owner: fc.constantFrom(...tenants, null) }),
  },
)
export type Command = typeof command extends fc.Arbitrary<infer C> ? C : never
