/** Compares the server with the ledger: every deployment's state, reports and history, the counts, and what a subscriber received. */

import type { Api } from '../../../src/apps/cli/api.ts'
import { type DeploymentState, deploymentStates, type StatusError } from '../../../src/domain/values.ts'
import { contentOf } from './expectation.ts'
import { type Account, type KeptReport, type Ledger, mostKept, nameOf, possibleContents } from './ledger.ts'
import type { Observer } from './observer.ts'

export interface DeviceFindings {
  /** Each difference as a sentence. */
  readonly differences: readonly string[]
  readonly deployments: number
  readonly reports: number
  readonly changes: number
  /** Deployments for which a lost answer allows more than one correct state. */
  readonly uncertain: number
}

interface DeploymentData {
  readonly deploymentId: string
  readonly state: DeploymentState
  readonly error: StatusError | null
  readonly attempt: number
  readonly adoptedManifestVersion: string | null
  readonly components: readonly {
    readonly name: string
    readonly state: DeploymentState
    readonly error: StatusError | null
  }[]
  readonly reports: {
    readonly totalCount: number
    readonly nodes: readonly { readonly verdict: string; readonly revision: string | null }[]
  }
  readonly history: { readonly nodes: readonly { readonly revision: string; readonly kind: string }[] }
}

interface RolloutData {
  readonly name: string
  readonly deploymentCounts: Readonly<Record<string, number>>
  readonly deployments: {
    readonly nodes: readonly DeploymentData[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

interface PageData {
  readonly rollout: RolloutData | null
}

const page = /* GraphQL */ `
  query Check($rollout: ID!, $after: String) {
    rollout(id: $rollout) {
      name
      deploymentCounts { total ${deploymentStates.map((state) => state.toLowerCase()).join(' ')} }
      deployments(first: 20, after: $after, orderBy: NAME) {
        nodes {
          deploymentId
          state
          error { code message source }
          attempt
          adoptedManifestVersion
          components { name state error { code message source } }
          reports(last: ${mostKept}) { totalCount nodes { verdict revision } }
          history(last: ${mostKept}) { nodes { revision kind } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`

export async function checkServer(
  api: Api,
  rolloutIds: readonly string[],
  ledger: Ledger,
  observer: Observer,
): Promise<DeviceFindings> {
  const differences = [...ledger.differences, ...observer.differences]
  const received = { changes: observer.changes, until: observer.newest }
  const seen = new Set<string>()
  let reports = 0
  let changes = 0

  for (const rolloutId of rolloutIds) {
    const states = new Map<string, number>()
    let last: RolloutData | null = null
    for await (const rollout of pagesOf(api, rolloutId)) {
      last = rollout
      for (const found of rollout.deployments.nodes) {
        states.set(found.state, (states.get(found.state) ?? 0) + 1)
        seen.add(found.deploymentId)
        reports += found.reports.nodes.length
        changes += found.history.nodes.length
        const account = ledger.accounts.get(found.deploymentId)
        if (account) differences.push(...compare(account, found, received, Date.now()))
        else differences.push(`${found.deploymentId} is in the rollout ${rollout.name}, but was never declared`)
      }
    }
    if (last === null) differences.push(`the rollout ${rolloutId} does not exist`)
    else differences.push(...compareCounts(last, states))
  }
  const accounts = [...ledger.accounts.values()]
  for (const { deployment } of accounts)
    if (!seen.has(deployment.deploymentId)) differences.push(`${nameOf(deployment)} is missing from its rollout`)
  const uncertain = accounts.filter(({ isCertain, open }) => !isCertain || open.length > 0).length
  return { differences, deployments: seen.size, reports, changes, uncertain }
}

/** The pages of a rollout's deployments. None: it does not exist. */
async function* pagesOf(api: Api, rolloutId: string): AsyncGenerator<RolloutData> {
  for (let after: string | null = null, isMore = true; isMore; ) {
    const { rollout }: PageData = await api.ask<PageData>(page, { rollout: rolloutId, after })
    if (!rollout) return
    yield rollout
    after = rollout.deployments.pageInfo.endCursor
    isMore = rollout.deployments.pageInfo.hasNextPage
  }
}

function compareCounts({ name, deploymentCounts }: RolloutData, states: ReadonlyMap<string, number>): string[] {
  return deploymentStates.flatMap((state) => {
    const [counted, listed] = [deploymentCounts[state.toLowerCase()], states.get(state) ?? 0]
    return counted === listed ? [] : [`${name} counts ${counted} ${state}, but lists ${listed}`]
  })
}

function compare(account: Account, found: DeploymentData, received: Received, now: number): string[] {
  const name = nameOf(account.deployment)
  const differences = compareContent(account, found, now)
  const isSure = account.isCertain && account.open.length === 0
  if (isSure) differences.push(...compareReports(account, found.reports))
  // The server may mark deployments as stalled while the check runs, so these changes are left out.
  const history = upTo(received.until, found.history.nodes)
  const expectedHistory = upTo(received.until, received.changes.get(found.deploymentId) ?? [])
  const latest = found.history.nodes.length < mostKept ? expectedHistory : expectedHistory.slice(-history.length)
  if (history.join() !== latest.join())
    differences.push(`its history differs from what a subscriber received: ${firstDifference(history, latest)}`)
  return differences.map((difference) => `${name}: ${difference}`)
}

interface Received extends Pick<Observer, 'changes'> {
  readonly until: number
}

function upTo(revision: number, changes: readonly { readonly revision: string; readonly kind: string }[]): string[] {
  return changes.filter((change) => Number(change.revision) <= revision).map(({ revision: r, kind }) => `${r} ${kind}`)
}

function compareContent(account: Account, found: DeploymentData, now: number): string[] {
  const version = found.adoptedManifestVersion === null ? null : Number(found.adoptedManifestVersion)
  const content = contentOf({ ...found, version })
  const possible = possibleContents(account, now)
  if (possible.includes(content)) return []
  // Only the attempt may be uncertain.
  if (!account.isCertain && contentOf({ ...found, version, attempt: account.expected.attempt }) === possible[0])
    return []
  return [`is ${content}, but should be ${possible.join(' or ')}`]
}

function compareReports(account: Account, found: DeploymentData['reports']): string[] {
  if (found.totalCount !== account.keptCount)
    return [`${found.totalCount} reports are stored, but should be ${account.keptCount}`]
  const expected = account.kept.slice(-mostKept)
  const wrong = expected.findIndex((report, index) => !matches(report, found.nodes[index]))
  if (wrong < 0) return []
  return [
    `report ${wrong} of the last ${expected.length} is ${JSON.stringify(found.nodes[wrong])}, but should be ${JSON.stringify(expected[wrong])}`,
  ]
}

function matches(
  { verdict, revision }: KeptReport,
  found: DeploymentData['reports']['nodes'][number] | undefined,
): boolean {
  if (found?.verdict !== verdict) return false
  return revision === null || found.revision === String(revision)
}

function firstDifference(a: readonly string[], b: readonly string[]): string {
  const at = a.findIndex((entry, index) => entry !== b[index])
  const where = at < 0 ? a.length : at
  return `${a[where] ?? 'nothing'} instead of ${b[where] ?? 'nothing'}`
}
