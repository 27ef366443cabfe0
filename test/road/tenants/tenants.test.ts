/**
 * Two tenants of one gateway: whatever moves, is relabelled, forgotten and comes back, each receives exactly what happened on devices of
 * its own: live and resumed from every revision, over both transports, at every revision of the past, and by webhooks. A failure prints
 * its seed and the list of commands.
 */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { isDeep, runs, someOf } from '../../support/runner/depth.ts'
import { type Command, command } from './tenant-commands.ts'
import { play } from './tenant-play.ts'

/** Of random lists, after those below. */
const random = runs(0, 20)
const said = (device: 'gw/1' | 'gw/2', more: object = {}): Command => ({
  ...{ do: 'report', device, id: 'd-1', state: 'FAILED', fails: true, parts: ['x', 'y'] },
  ...more,
})
const quiet = { state: 'INSTALLING', fails: false, parts: [] }

/** Each of the first four has shown something of gw/2 to the tenant of gw/1. */
const leaks: [Command[]][] = [
  [[said('gw/2'), said('gw/2', { state: 'INSTALLED' }), said('gw/1', quiet)]],
  [[said('gw/2'), said('gw/1', { parts: ['y'] }), said('gw/2', { do: 'late' })]],
  [[said('gw/2'), said('gw/1', quiet), said('gw/2')]],
  [[said('gw/2'), { do: 'forget', number: 0 }, said('gw/1', quiet)]],
  // Shows nothing; a move between two devices of one tenant: the former one is not told what its new one said.
  [[{ do: 'label', device: 'gw/2', owner: 'a' }, said('gw/1', { parts: ['x'] }), said('gw/2', { parts: ['y'] })]],
  // Shows nothing; a deployment leaves two rollouts: they are not told what is declared then. It comes back in another one.
  [
    [
      said('gw/1', { parts: ['x'] }),
      { do: 'declare', rollout: 'r-1', device: 'gw/1', id: 'd-1', parts: ['x', 'y'] },
      { do: 'declare', rollout: 'r-1', device: 'gw/1', id: 'd-2', parts: ['x'] },
      { do: 'declare', rollout: 'r-2', device: 'gw/1', id: 'd-2', parts: ['y'] },
      { do: 'forget', number: 1 },
      { do: 'declare', rollout: 'r-1', device: 'gw/1', id: 'd-2', parts: ['x'] },
    ],
  ],
  // Shows nothing; its first report repeats the declaration.
  [
    [
      { do: 'declare', rollout: 'r-1', device: 'gw/2', id: 'd-1', parts: ['x'] },
      said('gw/2', { do: 'late', state: 'PENDING', fails: false, parts: [] }),
      said('gw/1', { id: 'd-2', state: 'PENDING', parts: ['y'] }),
      said('gw/2', { do: 'late', state: 'PENDING' }),
      { do: 'report', device: 'gw/3', id: 'd-1', state: 'FAILED', fails: false, parts: ['y'] },
    ],
  ],
]

const examples = isDeep ? leaks : leaks.slice(0, someOf(2, 4))

describe.each(stores)('two tenants on $name', (store) => {
  it(
    'receive what happens on their own devices, and nothing else',
    async () => {
      const commands = fc.array(command, { minLength: 1, maxLength: 12 })
      const options = {
        numRuns: random + examples.length,
        examples,
        interruptAfterTimeLimit: 240_000 + random * 20_000,
      }
      await fc.assert(
        fc.asyncProperty(commands, (list) => play(store, list)),
        options,
      )
    },
    600_000 + random * 20_000,
  )
})
