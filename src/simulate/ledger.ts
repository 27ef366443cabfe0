/** What was acknowledged, and what must have become of it. The server is checked against this at the end. */
import { generationOf, type Report } from './bodies.ts'
import { afterTaking, contentOf, declared, type Expected, expectVerdict, type Verdict } from './expectation.ts'
import type { SimulatedDeployment } from './fleet.ts'

/** What the server said of one report. */
export interface Acknowledgement {
  readonly verdict: Verdict
  readonly revision: number
  /** An earlier try of the same request got no answer: it may have been written then. */
  readonly isRepeat: boolean
  /** Several reports in one request: some may have been written by an earlier try and others not. */
  readonly isBacklog: boolean
}

/** A report that must be among the deployment's. */
export interface KeptReport {
  readonly verdict: 'APPLIED' | 'STALE'
  /** Null: the try's answer was lost, or its revision is shared with other deployments. */
  readonly revision: number | null
}

export interface Account {
  readonly deployment: SimulatedDeployment
  expected: Expected
  /** The newest of them, and how many there were in all. */
  kept: KeptReport[]
  keptCount: number
  acknowledged: number
  /** False: an answer was lost in a way that leaves open which attempts were counted. */
  isCertain: boolean
  /** A request that has not been answered yet: either state is right. */
  open: readonly Report[]
}

export interface Ledger {
  readonly accounts: ReadonlyMap<string, Account>
  /** Contradictions that showed themselves when a verdict came. */
  readonly differences: readonly string[]
  readonly verdicts: Readonly<Record<Verdict | 'REFUSED', number>>
  acknowledged(report: Report, answer: Acknowledgement): void
  /** The server says of a child, before anything was sent, that it is unreachable. */
  foundUnreachable(deviceId: string): void
  refused(report: Report, reason: string): void
  /** Sent, and not answered when the simulation ended. */
  unanswered(reports: readonly Report[]): void
  /** Of the changes of deployments, the newest that was acknowledged. */
  readonly newestRevision: number
}

/** Only so many of a deployment's reports are looked at in the end. */
export const mostKept = 100
/** Told in full; the others are counted. */
const mostDifferences = 1_000

export function createLedger(deployments: readonly SimulatedDeployment[], now: () => number = Date.now): Ledger {
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
  /** Children that their gateway has said to be unreachable: their next sign of life is a change too. */
  const unreachable = new Set<string>()
  let newestRevision = 0

  function differ(report: Report, what: string): void {
    if (differences.length < mostDifferences) differences.push(`${nameOf(report.deployment)}: ${what}`)
  }

  /** Whether the report moves the connectivity of the child it is about. */
  function movesChild({ deployment, step }: Report): boolean {
    const { deviceId, reporter } = deployment.device
    if (deviceId === reporter) return false
    const isLost = [step, ...step.components].some(({ error }) => error?.code === '102')
    const wasLost = unreachable.has(deviceId)
    if (isLost) unreachable.add(deviceId)
    else unreachable.delete(deviceId)
    return isLost !== wasLost
  }

  return {
    accounts,
    differences,
    verdicts,
    get newestRevision() {
      return newestRevision
    },
    acknowledged(report, { verdict, revision, isRepeat, isBacklog }) {
      const account = accounts.get(report.deployment.deploymentId)
      if (!account) throw new Error(`unplanned deployment ${report.deployment.deploymentId}`)
      verdicts[verdict] += 1
      account.acknowledged += 1
      const marks = generationOf(report).marks(report)
      const predicted = expectVerdict(account.expected, report.step, marks, now())
      const next = afterTaking(account.expected, report.step, marks, now())
      const changesDeployment = predicted === 'APPLIED'
      const movedChild = predicted !== 'STALE' && movesChild(report)
      const expected = changesDeployment || movedChild ? 'APPLIED' : predicted
      // Each try of a stale one may have been kept.
      if (isRepeat && (isBacklog || predicted === 'STALE')) account.isCertain = false
      // Written by the try that was not answered.
      const wasWritten = isRepeat && expected === 'APPLIED' && verdict !== 'APPLIED'
      if (verdict !== expected && !isRepeat)
        differ(report, `the verdict on ${report.step.state} was ${verdict}, but should be ${expected}`)

      if (predicted !== 'STALE') account.expected = next
      if (expected === 'UNCHANGED') return
      const ownRevision = movedChild ? (changesDeployment ? revision - 1 : null) : revision
      keep(account, { verdict: expected, revision: wasWritten || expected === 'STALE' ? null : revision })
      if (!wasWritten && changesDeployment && ownRevision !== null)
        newestRevision = Math.max(newestRevision, ownRevision)
    },
    foundUnreachable: (deviceId) => void unreachable.add(deviceId),
    refused(report, reason) {
      verdicts.REFUSED += 1
      differ(report, `a good report was refused: ${reason}`)
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

/** Every content that the deployment may have: more than one only where an answer is missing. */
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
