/** What the server acknowledged, and the state that must follow. The final check compares the server with it. */
import { generationOf, type Report } from '../../../src/apps/simulate/bodies.ts'
import type { SimulatedDeployment } from '../../../src/apps/simulate/fleet.ts'
import {
  type Acknowledgement,
  mostDifferences,
  type ReportRecord,
  type Verdict,
} from '../../../src/apps/simulate/records.ts'
import { afterTaking, contentOf, declared, type Expected, expectVerdict } from './expectation.ts'

/** A report that the deployment must contain. */
export interface KeptReport {
  readonly verdict: 'APPLIED' | 'STALE'
  /** Null: the answer of that attempt was lost, or other deployments share its revision. */
  readonly revision: number | null
}

export interface Account {
  readonly deployment: SimulatedDeployment
  expected: Expected
  /** The newest reports, and the number of all. */
  kept: KeptReport[]
  keptCount: number
  acknowledged: number
  /** False: because of a lost answer, the number of attempts is uncertain. */
  isCertain: boolean
  /** A request that is not answered yet, so either state is correct. */
  open: readonly Report[]
}

export interface Ledger extends ReportRecord {
  readonly accounts: ReadonlyMap<string, Account>
  /** The server reported a child as unreachable before its first report. */
  foundUnreachable(deviceId: string): void
  /** The newest acknowledged revision of a deployment's change. */
  readonly newestRevision: number
}

/** The number of a deployment's reports that the final check compares. */
export const mostKept = 100

export function createLedger(deployments: readonly SimulatedDeployment[]): Ledger {
  const accounts = new Map<string, Account>(
    deployments.map((deployment) => [
      deployment.deploymentId,
      {
        deployment,
        expected: declared(deployment),
        kept: [],
        keptCount: 0,
        acknowledged: 0,
        isCertain: true,
        open: [],
      },
    ]),
  )
  const differences: string[] = []
  const verdicts = { APPLIED: 0, UNCHANGED: 0, STALE: 0, REFUSED: 0 }
  /** Children that their gateway reported as unreachable. Their next report is a change too. */
  const unreachable = new Set<string>()
  let newestRevision = 0

  function differ(report: Report, what: string): void {
    if (differences.length < mostDifferences) differences.push(`${nameOf(report.deployment)}: ${what}`)
  }

  /** Whether the report changes the connectivity of the child that it describes. */
  function movesChild({ deployment, step }: Report): boolean {
    const { deviceId, reporter } = deployment.device
    if (deviceId === reporter) return false
    const isLost = [step, ...step.components].some(({ error }) => error?.code === '102')
    const wasLost = unreachable.has(deviceId)
    if (isLost) unreachable.add(deviceId)
    else unreachable.delete(deviceId)
    return isLost !== wasLost
  }

  /** Notes a report that the deployment, or the connectivity of its device, must contain. */
  function noteKept(
    account: Account,
    { verdict, revision, isRepeat }: Acknowledgement,
    { expected, predicted, movedChild }: { expected: 'APPLIED' | 'STALE'; predicted: Verdict; movedChild: boolean },
  ): void {
    // The attempt without an answer stored it.
    const wasWritten = isRepeat && expected === 'APPLIED' && verdict !== 'APPLIED'
    keep(account, { verdict: expected, revision: wasWritten || expected === 'STALE' ? null : revision })
    if (wasWritten || predicted !== 'APPLIED') return
    // The change of the connectivity is the last one of the report.
    newestRevision = Math.max(newestRevision, movedChild ? revision - 1 : revision)
  }

  return {
    accounts,
    differences,
    verdicts,
    get newestRevision() {
      return newestRevision
    },
    acknowledged(report, answer) {
      const account = accounts.get(report.deployment.deploymentId)
      if (!account) throw new Error(`unplanned deployment ${report.deployment.deploymentId}`)
      const { verdict, isRepeat, isBacklog } = answer
      verdicts[verdict] += 1
      account.acknowledged += 1
      const marks = generationOf(report).marks(report)
      const predicted = expectVerdict(account.expected, report.step, marks, Date.now())
      const next = afterTaking(account.expected, report.step, marks, Date.now())
      const movedChild = predicted !== 'STALE' && movesChild(report)
      const expected = movedChild ? 'APPLIED' : predicted
      // Each attempt of a stale report may be stored.
      if (isRepeat && (isBacklog || predicted === 'STALE')) account.isCertain = false
      if (verdict !== expected && !isRepeat)
        differ(report, `the verdict on ${report.step.state} was ${verdict}, but should be ${expected}`)
      if (predicted !== 'STALE') account.expected = next
      if (expected !== 'UNCHANGED') noteKept(account, answer, { expected, predicted, movedChild })
    },
    foundUnreachable: (deviceId) => void unreachable.add(deviceId),
    refused(report, reason) {
      verdicts.REFUSED += 1
      differ(report, `a valid report was refused: ${reason}`)
    },
    unanswered(reports) {
      for (const report of reports) {
        const account = accounts.get(report.deployment.deploymentId)
        if (account) account.open = [...account.open, report]
      }
    },
  }
}

function keep(account: Account, report: KeptReport): void {
  account.keptCount += 1
  account.kept.push(report)
  if (account.kept.length > 2 * mostKept) account.kept = account.kept.slice(-mostKept)
}

/** Every state that the deployment may have. There is more than one only if an answer is missing. */
export function possibleContents(account: Account, now: number): readonly string[] {
  const contents = [contentOf(account.expected)]
  let known = account.expected
  for (const report of account.open) {
    const marks = generationOf(report).marks(report)
    if (expectVerdict(known, report.step, marks, now) === 'STALE') continue
    known = afterTaking(known, report.step, marks, now)
    contents.push(contentOf(known))
  }
  return contents
}

export function nameOf({ deploymentId, device, rollout }: SimulatedDeployment): string {
  return `${rollout.application} on ${device.deviceId} (${deploymentId}, Margo ${device.generation})`
}
