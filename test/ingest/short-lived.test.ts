/**
 * What a batch needs is gone with its answer. V8 collects old objects seldom, and what two collections of young objects find in use becomes old.
 * One object that V8 creates among the old ones keeps all that it holds until then: a function that is assigned to a property, or the map
 * of a new generator function. A batch that such an object holds becomes old with its parameters, rows and effects.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { startNode } from '../support/servers/child.ts'

/** Bytes that become old with each report: rows of the row cache, which are replaced later. With one such object a report kept 1,900 and more. */
const mostKept = 600

describe.each(stores)('reports of known deployments, on $name', (store) => {
  it('leave nothing behind that only a full collection finds', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const env = { STORE: JSON.stringify(empty.config), MOST_KEPT: String(mostKept) }
    const child = startNode(['test/ingest/kept-bytes.ts'], env)
    expect(Number((await child.said(/^kept /)).slice('kept '.length))).toBeLessThan(mostKept)
    expect(await child.ended).toBe(0)
  })
})
