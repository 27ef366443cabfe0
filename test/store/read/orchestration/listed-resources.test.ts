/** The resources of an instance by component and cluster: in the order of their first reports, and sorted once however many their pages are. */
import { describe, expect, it } from 'vitest'
import { reportResources } from '../../../../src/ingest/commands/resources.ts'
import { instanceById } from '../../../../src/store/read/orchestration/instances.ts'
import { listResources } from '../../../../src/store/read/orchestration/resources.ts'
import { edge01, useOrchestration } from '../../../ingest/commands/orchestration-harness.ts'
import { stores } from '../../../support/databases/stores.ts'
import { readPlans } from '../plan.ts'

const size = 1_500
const edge02 = { ...edge01, name: 'edge02' }

describe.each(stores)('resources by component and cluster on $name', (store) => {
  const { road, rolloutNamed, act, applied, session } = useOrchestration(store)

  it('are read once for all pages, without statistics too', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const facts = Array.from({ length: size }, (_, index) =>
      applied(`n${index}`, 'APPLIED', {
        component: index % 3 === 0 ? 'sink' : 'source',
        target: index % 2 === 0 ? edge02 : edge01,
      }),
    )
    await road().writer.submit(reportResources(name, a, facts))
    const { key } = (await instanceById(session(), a, null)) ?? { key: 0 }

    const plans = readPlans(session())
    const pages = await Array.fromAsync(listResources(plans.session, key, {}, size / 30))
    expect(pages.map((page) => page.length)).toEqual(Array.from({ length: 30 }, () => size / 30))
    expect(plans.passed()).toBeLessThan(20 * size)

    const found = pages.flat()
    const byKey = found.toSorted((a, b) => a.key - b.key)
    const groups = Object.groupBy(byKey, ({ component }) => component)
    const inOrder = Object.values(groups).flatMap((rows = []) =>
      Object.values(Object.groupBy(rows, ({ target }) => target)).flat(),
    )
    expect(found).toEqual(inOrder)
    expect(new Set(found.map(({ key: own }) => own)).size).toBe(size)
    const [some = []] = await Array.fromAsync(listResources(session(), key, { names: ['n9', 'n1', 'n4'] }, 10))
    expect(some.map(({ name }) => name)).toEqual(['n9', 'n4', 'n1'])
  })
})
