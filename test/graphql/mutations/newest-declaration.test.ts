/** Who declared deployments last, when and why: `newestDeclaration`. */
import { describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { declare, documentOf, useDesired } from '../subscriptions/desired-operations.ts'

describe.each(stores)('the newest declaration on $name', (store) => {
  const { api, run, say } = useDesired(store)

  it('says who declared last, in the fleet and in a rollout, also in the past', async () => {
    const declareIn = async (name: string, reason: string, deployments: readonly object[]): Promise<number> =>
      Number((await run(declare, { rollout: { name }, deployments, reason })).revision)
    const shown = '{ declaredBy reason revision declaredAt rollout { name } }'
    const askAt = async (revision?: number) =>
      api().ask(
        `query ($at: Revision) {
          fleet: newestDeclaration(atRevision: $at) ${shown}
          ovens: rollout(key: { name: "ovens" }, atRevision: $at) { newestDeclaration ${shown} }
          fans: rollout(key: { name: "fans" }, atRevision: $at) { newestDeclaration { reason } }
        }`,
        { at: revision === undefined ? null : String(revision) },
      )
    const named = (reason: string) => ({ newestDeclaration: { reason } })
    const before = Number((await api().ask('{ revision }')).revision)
    const oven = { deviceId: 'oven-1', deploymentId: 'oven', document: documentOf('1', 'a') }
    const first = await declareIn('ovens', 'the first', [oven, { deviceId: 'oven-2', deploymentId: 'oven' }])
    // Without a document, too.
    await declareIn('fans', 'a fan', [{ deviceId: 'fan-1', deploymentId: 'fan' }])
    const second = await declareIn('ovens', 'the second', [{ ...oven, document: documentOf('2', 'a') }])
    // Neither a report nor a declaration that changes nothing counts.
    await say('oven-1', 'oven', 'INSTALLED', '3')
    await declareIn('ovens', 'nothing new', [{ ...oven, document: documentOf('2', 'a') }])
    const newest = {
      declaredBy: 'everyone',
      reason: 'the second',
      revision: String(second),
      rollout: { name: 'ovens' },
    }
    const found = await askAt()
    expect(found).toMatchObject({ fleet: newest, ovens: { newestDeclaration: newest }, fans: named('a fan') })
    expect(Date.parse(found.fleet.declaredAt)).toBeGreaterThan(0)
    expect(await askAt(second)).toEqual(found)
    expect(await askAt(second - 1)).toMatchObject({ fleet: { reason: 'a fan' }, ovens: named('the first') })
    expect(await askAt(first)).toMatchObject({ fleet: { reason: 'the first' }, ovens: named('the first'), fans: null })
    expect(await askAt(before)).toMatchObject({ ovens: null, fans: null })
  })

  it('is that of the rollout which a deployment joins, and not of the one which it leaves', async () => {
    const deployments = [{ deviceId: 'mover', deploymentId: 'mover' }]
    const declareIn = (name: string, reason: string) =>
      run(declare, { rollout: { name, project: `of-${name}` }, deployments, reason })
    await declareIn('left', 'at first')
    await declareIn('joined', 'moved')
    const shown = 'newestDeclaration { reason } deploymentCounts { total }'
    const found = await api().ask(
      `{ left: rollout(key: { name: "left", project: "of-left" }) { ${shown} changes(last: 1) { nodes { kind } } }
         joined: rollout(key: { name: "joined", project: "of-joined" }) { ${shown} } newestDeclaration { reason } }`,
    )
    expect(found).toEqual({
      left: {
        newestDeclaration: { reason: 'at first' },
        deploymentCounts: { total: 0 },
        // Readers of the whole fleet find the move among the changes.
        changes: { nodes: [{ kind: 'DEPLOYMENT_REVISED' }] },
      },
      joined: { newestDeclaration: { reason: 'moved' }, deploymentCounts: { total: 1 } },
      newestDeclaration: { reason: 'moved' },
    })
  })
})
