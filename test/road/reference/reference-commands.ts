/** Everything that can happen to the road, as fast-check draws it. */
import fc from 'fast-check'
import { deploymentStates } from '../../../src/domain/values.ts'
import type { ModelReport } from './reference-facts.ts'

/** A report with its clock as it is wrong: seconds ahead of ours; null: it says no time. */
export type Said = Omit<ModelReport, 'time'> & { readonly ahead: number | null }

// A code and what is said with it; 102 is a gateway's word for a child it cannot reach.
const error = fc.constantFrom(null, null, 'x', 'x but other words', 'y', '102')
const state = fc.constantFrom(...deploymentStates)
const id = fc.constantFrom('d-1', 'd-1', 'd-2')

const said: fc.Arbitrary<Said> = fc
  .record({
    // A device for itself, a gateway for one of its children, and two who speak of the same device.
    who: fc.constantFrom(
      ['edge-1', 'edge-1'],
      ['edge-2', 'edge-2'],
      ['gw', 'gw/a'],
      ['gw', 'gw/b'],
      ['gw/a', 'gw/a'],
      ['other', 'gw/a'],
    ),
    id,
    state,
    error,
    parts: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.record({ state, error }), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    version: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null, freq: 1 }),
    boot: fc.constantFrom(null, 'one', 'two'),
    seq: fc.option(fc.integer({ min: 0, max: 12 }), { nil: null }),
    // Seconds: a little wrong, or by far.
    ahead: fc.constantFrom(null, -5, 0, 5, 300, 301, 1_000_000, -1_000_000),
  })
  .map(({ who: [reporter = '', device = ''], ...rest }) => ({ ...rest, reporter, device }))

const device = fc.constantFrom('edge-1', 'gw', 'gw/a', 'gw/b')
const declaration = fc.record({
  device,
  id: fc.oneof(id, fc.constant('d-3')),
  application: fc.constantFrom(null, 'one', 'two'),
  parts: fc.option(fc.uniqueArray(fc.constantFrom('a', 'd'), { maxLength: 2 }), { nil: null }),
})

/** What the writer takes; several of these may share a batch. `n`s choose among what is there. */
const write = fc.oneof(
  { weight: 14, arbitrary: said.map((r) => ({ do: 'report', r }) as const) },
  { weight: 2, arbitrary: fc.constant({ do: 'repeat' } as const) },
  { weight: 2, arbitrary: fc.constant({ do: 'deliver' } as const) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        rollout: fc.constantFrom(null, 'r-1', 'r-2'),
        list: fc.array(declaration, { minLength: 1, maxLength: 3 }),
      })
      .map((declared) => ({ do: 'declare', ...declared }) as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.nat(5), { minLength: 1, maxLength: 2 })
      .map((numbers) => ({ do: 'forget', numbers }) as const),
  },
  {
    weight: 2,
    arbitrary: fc.uniqueArray(fc.nat(5), { minLength: 1 }).map((numbers) => ({ do: 'stall', numbers }) as const),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resetOrder' as const), device }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('register' as const), device }) },
  {
    weight: 3,
    // From one window to another, too. Null: out of any.
    arbitrary: fc.record({
      do: fc.constant('maintain' as const),
      devices: fc.uniqueArray(device, { minLength: 1, maxLength: 3 }),
      window: fc.constantFrom(null, 'power', 'roof'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('retire' as const),
      device,
      withChildren: fc.boolean(),
      reason: fc.constantFrom('broken', 'sold'),
    }),
  },
)
export type Write = typeof write extends fc.Arbitrary<infer C> ? C : never

export const command = fc.oneof(
  { weight: 20, arbitrary: write.map((one) => ({ do: 'write', writes: [one] }) as const) },
  {
    weight: 4,
    arbitrary: fc.array(write, { minLength: 2, maxLength: 8 }).map((writes) => ({ do: 'write', writes }) as const),
  },
  {
    weight: 4,
    arbitrary: fc
      .array(
        said.map((r) => ({ do: 'report', r }) as const),
        { minLength: 3, maxLength: 12 },
      )
      .map((writes) => ({ do: 'write', writes }) as const),
  },
  { weight: 2, arbitrary: said.map((r) => ({ do: 'delay', r }) as const) },
  { weight: 2, arbitrary: fc.nat(4).map((filter) => ({ do: 'subscribe', filter }) as const) },
  { weight: 1, arbitrary: id.map((id) => ({ do: 'watch', id }) as const) },
  { weight: 2, arbitrary: fc.nat(5).map((n) => ({ do: 'drop', n }) as const) },
  { weight: 2, arbitrary: fc.nat(5).map((n) => ({ do: 'resume', n }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' } as const) },
  {
    weight: 1,
    arbitrary: fc
      .record({ ago: fc.nat(1_500), step: fc.constantFrom(1, 3, 1_000) })
      .map((cut) => ({ do: 'prune', ...cut }) as const),
  },
  // Our own clock may be set back.
  { weight: 3, arbitrary: fc.integer({ min: -100, max: 1_000 }).map((seconds) => ({ do: 'wait', seconds }) as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'check' } as const) },
)
export type Command = typeof command extends fc.Arbitrary<infer C> ? C : never
