/** What the server acknowledged of an orchestrator's facts, and the state that must follow. The final check compares the server with it. */
import type { SimulatedGroup } from '../../../../src/apps/simulate/clusters/plan.ts'
import { type ActionState, type Fact, nameOf } from '../../../../src/apps/simulate/clusters/script.ts'
import { type FactRecord, mostDifferences, type Verdict } from '../../../../src/apps/simulate/records.ts'
import { type ExpectedInstances, takeAction, takeItems, takeObjectList } from './expectation.ts'

export interface GroupAccount {
  readonly group: SimulatedGroup
  state: ActionState | null
  readonly instances: ExpectedInstances
  /** False: a fact was not answered before the end, so more than one state is correct. */
  isCertain: boolean
}

export interface ClusterLedger extends FactRecord {
  readonly accounts: ReadonlyMap<SimulatedGroup, GroupAccount>
  /** The connectivity of the clusters that reported it. */
  readonly online: ReadonlyMap<string, boolean>
}

export function createClusterLedger(groups: readonly SimulatedGroup[]): ClusterLedger {
  const accounts = new Map(
    groups.map((group): [SimulatedGroup, GroupAccount] => [
      group,
      { group, state: null, instances: [], isCertain: true },
    ]),
  )
  const online = new Map<string, boolean>()
  const differences: string[] = []
  const verdicts = { APPLIED: 0, UNCHANGED: 0, STALE: 0, REFUSED: 0 }

  function differ(fact: Fact, what: string): void {
    if (differences.length < mostDifferences) differences.push(`${nameOf(fact)}: ${what}`)
  }

  function accountOf(group: SimulatedGroup): GroupAccount {
    const account = accounts.get(group)
    if (!account) throw new Error(`unplanned intent group ${group.name}`)
    return account
  }

  /** The possible verdicts. Null: any. */
  function take(fact: Fact): readonly (readonly Verdict[])[] | null {
    if (fact.of === 'connectivity') {
      online.set(fact.cluster, fact.isOnline)
      return null
    }
    const account = accountOf(fact.group)
    switch (fact.of) {
      case 'action':
        takeAction(account.instances, fact.state, fact.instanceId)
        account.state = fact.state
        return [['APPLIED']]
      case 'resources':
        return takeItems(account.instances, fact.instanceId, fact.items).map((verdict) => [verdict])
      case 'objects':
        return [takeObjectList(account.instances, fact.list)]
    }
  }

  return {
    accounts,
    online,
    differences,
    verdicts,
    acknowledged(fact, { verdicts: found, isRepeat }) {
      for (const verdict of found) verdicts[verdict] += 1
      const expected = take(fact)
      if (found.includes('REFUSED')) differ(fact, `a valid fact was refused in part (${describe(fact)})`)
      else if (expected && !isRepeat)
        for (const [index, verdict] of found.entries())
          if (!expected[index]?.includes(verdict as Verdict))
            differ(
              fact,
              `the verdict on ${describe(fact)} was ${verdict}, but should be ${expected[index]?.join(' or ')}`,
            )
      if (expected && expected.length !== found.length)
        differ(fact, `${found.length} verdicts came for ${expected.length} parts of ${describe(fact)}`)
    },
    refused(fact, reason) {
      verdicts.REFUSED += 1
      differ(fact, `a valid fact was refused: ${describe(fact)}: ${reason}`)
    },
    unanswered(fact) {
      if (fact.of === 'connectivity') online.delete(fact.cluster)
      else accountOf(fact.group).isCertain = false
    },
  }
}

function describe(fact: Fact): string {
  switch (fact.of) {
    case 'action':
      return `${fact.state} ${fact.instanceId ?? ''}`.trim()
    case 'resources':
      return `${fact.items.length} resources of ${fact.instanceId}`
    case 'objects':
      return `version ${fact.list.version} of ${fact.list.app} on ${fact.list.cluster}`
    case 'connectivity':
      return `the connectivity of ${fact.cluster}`
  }
}
