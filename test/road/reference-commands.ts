/** Everything that can happen to the road, as fast-check draws it. */
import fc from 'fast-check'
import { deploymentStates } from '../../src/domain/deployment.ts'
import type { ModelReport } from './reference-model.ts'

/** A report with its clock as it is wrong: seconds ahead of ours; null: it says no time. */
export type Said = Omit<ModelReport, 'time'> & { readonly ahead: number | null }

const modelReport: fc.Arbitrary<Said> = fc
  .record({
    // A device for itself, or the gateway for one of its children.
    who: fc.constantFrom(['edge-1', 'edge-1'], ['gw', 'gw/a'], ['gw', 'gw/b']),
    id: fc.constantFrom('d-1', 'd-2'),
    state: fc.constantFrom(...deploymentStates),
    error: fc.constantFrom(null, 'x', 'y'),
    components: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(...deploymentStates), { maxKeys: 3 }),
    version: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }),
    boot: fc.constantFrom(null, 'one', 'two'),
    seq: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
    // Seconds: a little wrong, or by far.
    ahead: fc.constantFrom(null, -5, 0, 5, 299, 301, 1_000_000, -1_000_000),
  })
  .map(({ who: [reporter = '', device = ''], components, ...rest }) => ({
    ...rest,
    reporter,
    device,
    components: { ...components },
  }))

export const command = fc.oneof(
  { weight: 12, arbitrary: modelReport.map((r) => ({ do: 'report', r }) as const) },
  { weight: 3, arbitrary: fc.constant({ do: 'repeat' } as const) },
  { weight: 3, arbitrary: modelReport.map((r) => ({ do: 'delay', r }) as const) },
  { weight: 3, arbitrary: fc.constant({ do: 'deliver' } as const) },
  {
    weight: 3,
    arbitrary: fc.array(modelReport, { minLength: 2, maxLength: 6 }).map((rs) => ({ do: 'burst', rs }) as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        device: fc.constantFrom('edge-1', 'gw/a', 'gw/b'),
        id: fc.constantFrom('d-1', 'd-2', 'd-3'),
        components: fc.uniqueArray(fc.constantFrom('a', 'd'), { minLength: 1 }),
      })
      .map((d) => ({ do: 'declare', ...d }) as const),
  },
  { weight: 1, arbitrary: fc.nat(3).map((n) => ({ do: 'forget', n }) as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('edge-1', 'gw').map((reporter) => ({ do: 'resetOrder', reporter }) as const),
  },
  { weight: 2, arbitrary: fc.constantFrom('all', 'some').map((filter) => ({ do: 'subscribe', filter }) as const) },
  { weight: 2, arbitrary: fc.nat(3).map((n) => ({ do: 'drop', n }) as const) },
  { weight: 2, arbitrary: fc.nat(3).map((n) => ({ do: 'resume', n }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' } as const) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }).map((step) => ({ do: 'prune', step }) as const) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 1_000 }).map((seconds) => ({ do: 'wait', seconds }) as const) },
)
export type Command = typeof command extends fc.Arbitrary<infer C> ? C : never
