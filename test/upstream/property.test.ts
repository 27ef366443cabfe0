/** Whatever happens at a site, and whatever the link and the server above do: the one above has each fact once, in order, and its replay is the site's present. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHead } from '../../src/store/connection/log-head.ts'
import { command, type Write } from '../road/reference/reference-commands.ts'
import { openWindows } from '../road/reference/reference-windows.ts'
import { everyStore } from '../support/databases/stores.ts'
import { runs, someOf } from '../support/runner/depth.ts'
import type { Fault } from '../support/systems/site-receiver.ts'
import { expectSame, untilLevel, useUpstream } from './harness.ts'
import { writeAll } from './play.ts'

const fault: fc.Arbitrary<Fault | null> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.constantFrom<Fault>(
    { do: 'cut' },
    { do: 'cut after' },
    { do: 'half' },
    { do: 'answer', status: 500, body: 'no' },
    { do: 'answer after', status: 502, body: '' },
    { do: 'answer', status: 429, body: '{"detail":"too many"}' },
    { do: 'answer after', status: 200, body: '<html>' },
    { do: 'answer', status: 409, body: '{}' },
    { do: 'answer', status: 403, body: '{"title":"Forbidden"}' },
    { do: 'endless' },
  ),
)

/** What happens to the one above between two steps of the site. */
const above = fc.constantFrom('nothing', 'nothing', 'nothing', 'copied', 'restored', 'nameless')

const writes = command.filter((one) => one.do === 'write').map((one) => (one as { writes: readonly Write[] }).writes)
const step = fc.record({ writes, above, faults: fc.array(fault, { maxLength: 6 }), isAwaited: fc.boolean() })
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

describe.each(everyStore)('a site and the server above, on $name', (store) => {
  const { above: startAbove, startRoad, send, end } = useUpstream(store)

  async function play(steps: readonly Step[]): Promise<void> {
    const [receiver, road] = [await startAbove(), await startRoad()]
    await openWindows(road.database.session)
    const { revision: first } = await readHead(road.database.session)
    // Where nothing happens at the site, an empty batch notices that the one above was restored.
    const site = send(road, receiver, { pace: { contact: 100 } })
    await untilLevel(road, receiver)
    const faults: (Fault | null)[] = []
    receiver.fault(() => faults.shift() ?? null)
    let copy = receiver.copy()
    let now = Date.now()
    for (const { writes, above, faults: more, isAwaited } of steps) {
      now += 1_000
      faults.push(...more)
      if (above === 'copied') copy = receiver.copy()
      if (above === 'restored') receiver.restore(copy)
      if (above === 'nameless') receiver.loseNames()
      await writeAll(road, writes, now)
      if (isAwaited) await untilLevel(road, receiver)
    }
    await untilLevel(road, receiver)
    await site.stop()
    await expectSame(road.database, receiver, first)
    expect(receiver.held().snapshots).toBe(1)
    await end()
  }

  it('have the same, each fact once and in order', async () => {
    const options = { numRuns: runs(someOf(2, 5), 40) }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12, size: 'max' }), play), options)
  }, 300_000)
})
