/** A subscriber that watches the simulated rollouts from their first change on. The final check compares what it received. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../../src/apps/cli/api.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'

interface ObservedChange {
  readonly revision: string
  readonly kind: string
  /** Of a change of the deployment's own state. */
  readonly from: DeploymentState | null
  readonly to: DeploymentState | null
}

export interface Observer {
  /** The changes by deploymentId, in order of arrival, and the newest revision. */
  readonly changes: ReadonlyMap<string, readonly ObservedChange[]>
  readonly received: number
  /** The revision up to which it has received everything. */
  readonly newest: number
  /** Events that no subscriber should receive. */
  readonly differences: readonly string[]
  /** Resolves when everything up to that revision has arrived, or nothing has for that many milliseconds, which is a difference. */
  reach(revision: number, within: number): Promise<void>
}

interface FeedData {
  readonly changes: {
    readonly cursor: string
    readonly reset: { readonly reason: string } | null
    readonly change: (ObservedChange & { readonly deploymentId?: string }) | null
  }
}

/** Of one deployment. */
const mostRemembered = 200

const feed = /* GraphQL */ `
  subscription Observe($after: Revision!, $filter: ChangeFilter!) {
    changes(after: $after, filter: $filter) {
      cursor
      reset { reason }
      change {
        revision
        kind
        ... on DeploymentChange { deploymentId }
        ... on DeploymentStateChanged { from to }
      }
    }
  }
`

/** Subscribes from `after` on. The signal ends it. */
export function observe(api: Api, after: string, rolloutIds: readonly string[], signal: AbortSignal): Observer {
  const changes = new Map<string, ObservedChange[]>()
  const differences: string[] = []
  let received = 0
  let newest = 0
  let waiting: (() => void)[] = []

  function take({ changes: { cursor, reset, change } }: FeedData): void {
    if (reset) differences.push(`a subscriber was reset (${reset.reason}) at revision ${cursor}`)
    if (change) {
      if (Number(change.revision) <= newest)
        differences.push(`a subscriber received revision ${change.revision} after ${newest}`)
      received += 1
      const { revision, kind, from = null, to = null } = change
      const deploymentId = change.deploymentId ?? ''
      const known = changes.get(deploymentId) ?? []
      if (kind === 'DEPLOYMENT_STATE_CHANGED') checkChain(known, change)
      known.push({ revision, kind, from, to })
      changes.set(deploymentId, known.length > 2 * mostRemembered ? known.slice(-mostRemembered) : known)
    }
    newest = Math.max(newest, Number(cursor))
    for (const wake of waiting) wake()
    waiting = []
  }

  function checkChain(
    known: readonly ObservedChange[],
    { revision, from, deploymentId }: NonNullable<FeedData['changes']['change']>,
  ): void {
    const last = known.findLast(({ kind }) => kind === 'DEPLOYMENT_STATE_CHANGED')
    if (last && last.to !== from)
      differences.push(
        `${deploymentId}: revision ${revision} changes from ${from}, but the previous state is ${last.to}`,
      )
  }

  const variables = { after, filter: { rolloutIds } }
  let failure: unknown = null
  api.follow<FeedData>({ query: feed, variables, next: take }, signal).catch((error: unknown) => {
    failure = error
    for (const wake of waiting) wake()
  })

  const arrival = (): Promise<true> =>
    new Promise((resolve) => {
      waiting.push(() => resolve(true))
    })

  return {
    changes,
    differences,
    get received() {
      return received
    },
    get newest() {
      return newest
    },
    async reach(revision, within) {
      while (newest < revision && failure === null) {
        const isMore = await Promise.race([arrival(), sleep(within, false, { ref: false })])
        if (!isMore) break
      }
      if (failure !== null) throw failure
      if (newest < revision)
        differences.push(`a subscriber received nothing after ${newest}, but revision ${revision} was acknowledged`)
    },
  }
}
