/**
 * What the server must make of a report. This is a second implementation of the documented rules (README, "Reporting"), so that an
 * error in the server's own rules shows as a difference.
 */

import type { Marks } from '../../../src/apps/simulate/bodies.ts'
import type { SimulatedDeployment } from '../../../src/apps/simulate/fleet.ts'
import type { Verdict } from '../../../src/apps/simulate/records.ts'
import type { Step } from '../../../src/apps/simulate/script.ts'
import type { DeploymentState, StatusError } from '../../../src/domain/values.ts'

export interface Expected {
  readonly state: DeploymentState
  readonly error: StatusError | null
  readonly components: readonly {
    readonly name: string
    readonly state: DeploymentState
    readonly error: StatusError | null
  }[]
  readonly version: number | null
  readonly attempt: number
  readonly marks: Marks
  /** The highest sequence number of each boot but the newest. */
  readonly earlier: Readonly<Record<string, number>>
}

/** A clock that is further ahead does not decide the order. */
const clockTolerance = 300_000
const terminal: readonly DeploymentState[] = ['INSTALLED', 'FAILED', 'REMOVED']

export function declared({ rollout }: SimulatedDeployment): Expected {
  return {
    state: 'PENDING',
    error: null,
    components: rollout.components.map((name) => ({ name, state: 'PENDING', error: null })),
    version: null,
    attempt: 1,
    marks: { version: null, boot: null, seq: null, observedAt: null },
    earlier: {},
  }
}

export function expectVerdict(known: Expected, step: Step, sent: Marks, now: number): Verdict {
  const marks = trusted(sent, now)
  if (isOlder(known, marks)) return 'STALE'
  return sameContent(known, applied(known, step, marks)) ? 'UNCHANGED' : 'APPLIED'
}

/** The expected state after a report was accepted, changed or not. */
export function afterTaking(known: Expected, step: Step, sent: Marks, now: number): Expected {
  return applied(known, step, trusted(sent, now))
}

function applied(known: Expected, step: Step, marks: Marks): Expected {
  const opensAttempt = terminal.includes(known.state) && (step.state === 'PENDING' || step.state === 'INSTALLING')
  return {
    state: step.state,
    error: step.error,
    components: step.components,
    version: marks.version ?? known.version,
    attempt: known.attempt + (opensAttempt ? 1 : 0),
    marks,
    earlier: earlierBoots(known, marks),
  }
}

function earlierBoots({ marks: known, earlier }: Expected, { boot, seq, version }: Marks): Expected['earlier'] {
  if (compare(version, known.version) > 0) return {}
  if (seq === null || boot === known.boot) return earlier
  const { [String(boot)]: _, ...others } = earlier
  return known.seq === null ? others : { ...others, [String(known.boot)]: known.seq }
}

function trusted(marks: Marks, now: number): Marks {
  const isAhead = marks.observedAt !== null && marks.observedAt - now > clockTolerance
  return isAhead ? { ...marks, observedAt: null } : marks
}

/** The first key that both reports carry decides. A device of one generation always sends the same keys. */
function isOlder({ marks: known, earlier }: Expected, marks: Marks): boolean {
  const isRepeat = marks.boot !== known.boot && compare(marks.seq, earlier[String(marks.boot)] ?? -1) <= 0
  const order = [
    compare(marks.version, known.version),
    marks.boot === known.boot ? compare(marks.seq, known.seq) : 0,
    compare(marks.observedAt, known.observedAt),
    isRepeat && marks.seq !== null ? -1 : 0,
  ].find((difference) => difference !== 0)
  return order !== undefined && order < 0
}

function compare(a: number | null, b: number | null): number {
  return a === null || b === null ? 0 : a - b
}

function sameContent(a: Expected, b: Expected): boolean {
  return contentOf(a) === contentOf(b)
}

/** Components sorted by name. */
export function contentOf({ state, error, components, version, attempt }: Omit<Expected, 'marks' | 'earlier'>): string {
  const plain = (e: StatusError | null): string => (e ? JSON.stringify([e.code, e.message, e.source ?? null]) : '')
  const parts = components.map((part) => `${part.name} ${part.state} ${plain(part.error)}`).toSorted()
  return JSON.stringify([state, plain(error), parts, version, attempt])
}
