/**
 * What a simulation records of the server's answers. A tally counts them for the terminal. The ledgers of test/simulate also derive
 * what the server must then know.
 */
import type { Order, SimulatedAgent } from './agents/plan.ts'
import type { Report } from './bodies.ts'
import { type Fact, nameOf } from './clusters/script.ts'

export type Verdict = 'APPLIED' | 'UNCHANGED' | 'STALE'

interface Verdicts {
  readonly verdicts: Readonly<Record<Verdict | 'REFUSED', number>>
  /** What the server should not have answered, each as a sentence. */
  readonly differences: readonly string[]
}

/** The server's answer to one report. */
export interface Acknowledgement {
  readonly verdict: Verdict
  readonly revision: number
  /** An earlier attempt of the same request got no answer. The server may have stored the report then. */
  readonly isRepeat: boolean
  /** The request had several reports. An earlier attempt may have stored only some of them. */
  readonly isBacklog: boolean
}

export interface ReportRecord extends Verdicts {
  acknowledged(report: Report, answer: Acknowledgement): void
  refused(report: Report, reason: string): void
  /** Sent, but not answered when the simulation ended. */
  unanswered(reports: readonly Report[]): void
}

/** The server's answer to a fact: a verdict for each of its parts. */
export interface FactAnswer {
  readonly verdicts: readonly (Verdict | 'REFUSED')[]
  /** An earlier attempt got no answer. The server may have stored the fact then. */
  readonly isRepeat: boolean
}

export interface FactRecord extends Verdicts {
  acknowledged(fact: Fact, answer: FactAnswer): void
  refused(fact: Fact, reason: string): void
  unanswered(fact: Fact): void
}

export type Outcome = 'INSTALLED' | 'FAILED' | 'REMOVED'

/** What an agent applied and reported. */
export interface Applied {
  readonly version: number
  /** Null: it was removed. */
  readonly digest: string | null
  readonly outcome: Outcome
}

/** What the server answered to an order, of one deployment. */
export interface Ordered {
  readonly deploymentId: string
  readonly targetManifestVersion: string | null
  readonly desired: { readonly digest: string } | null
}

export interface AgentRecord {
  readonly differences: readonly string[]
  readonly counts: {
    orders: number
    reports: number
    /** How often an agent asked and received a new version. */
    polls: number
    fetched: number
  }
  ordered(order: Order, answer: readonly Ordered[]): void
  applied(agent: SimulatedAgent, deploymentId: string, applied: Applied): void
  unanswered(agent: SimulatedAgent): void
  differ(agent: SimulatedAgent, what: string): void
}

export interface Records {
  readonly reports: ReportRecord
  readonly facts: FactRecord
  readonly agents: AgentRecord
}

/** The number of differences that are listed in full. The others are counted. */
export const mostDifferences = 1_000

export function createTally(): Records {
  const verdicts = () => ({ APPLIED: 0, UNCHANGED: 0, STALE: 0, REFUSED: 0 })
  const [reports, facts] = [verdicts(), verdicts()]
  const differences: string[] = []
  const counts = { orders: 0, polls: 0, fetched: 0, reports: 0 }

  function differ(name: string, what: string): void {
    if (differences.length < mostDifferences) differences.push(`${name}: ${what}`)
  }

  return {
    reports: {
      verdicts: reports,
      differences,
      acknowledged(_, { verdict }) {
        reports[verdict] += 1
      },
      refused({ deployment }, reason) {
        reports.REFUSED += 1
        differ(deployment.deploymentId, `a valid report was refused: ${reason}`)
      },
      unanswered: () => undefined,
    },
    facts: {
      verdicts: facts,
      differences: [],
      acknowledged(_, answer) {
        for (const verdict of answer.verdicts) facts[verdict] += 1
      },
      refused(fact, reason) {
        facts.REFUSED += 1
        differ(nameOf(fact), `a valid fact was refused: ${reason}`)
      },
      unanswered: () => undefined,
    },
    agents: {
      differences: [],
      counts,
      ordered() {
        counts.orders += 1
      },
      applied: () => undefined,
      unanswered: () => undefined,
      differ: ({ deviceId }, what) => differ(deviceId, what),
    },
  }
}
