/**
 * Routes snapshots to standbys. A reader says what its snapshot must include (database.ts, Freshness):
 *
 *   'primary'   ──▶ the primary
 *   'present'   ──▶ the primary's head is read, one row for all who ask at once ──▶ a standby that includes it, or gets there in
 *                   time ──▶ otherwise the primary
 *   a revision  ──▶ a standby that includes it, without a statement on the primary ──▶ otherwise the primary
 *
 * So a reader that asks for the present gets the same as from the primary, whichever server acknowledged a write. The alternative was the
 * newest revision that this server has seen: it costs no statement, but a caller that wrote on another server could miss its own write.
 *
 * Lag is measured without any clock of a database: the positions of the primary are kept with the time at which this process read them. A
 * standby is as old as the newest of them that it includes. While the primary does not answer, that age increases, so standbys
 * answer readers with a revision for `lagLimit` and not longer.
 */
import type { Database, Freshness, Snapshot, StandbyState } from '../../database.ts'
import { orAborted } from '../abort.ts'
import { type Coalesced, coalesce } from '../coalesce.ts'
import { includes, type LogPosition, readHead } from '../log-head.ts'
import type { Standby, StandbyOptions } from './standby.ts'

export type StandbyHooks = Pick<StandbyOptions, 'epochBase' | 'problemChanged'>

interface RoutingOptions {
  readonly standbys: readonly ((hooks: StandbyHooks) => Standby)[]
  /** Milliseconds that a standby may be behind. */
  readonly lagLimit: number
  /** Milliseconds between two checks of each standby. */
  readonly checkInterval?: number
  readonly clock?: () => number
}

/** A position of the primary, and when it was read. */
interface Sample {
  readonly position: LogPosition
  readonly at: number
}

interface Candidate {
  readonly number: number
  readonly standby: Standby
  readonly check: Coalesced<void>
  /** The newest sample that it includes. */
  included: Sample | null
  /** It did not reach a position in time. Until it is level with the primary again, no reader waits for it. */
  isSlow: boolean
  shownProblem: string | null
}

export async function withStandbys(
  primary: Database,
  { standbys, lagLimit, checkInterval = 1_000, clock = performance.now.bind(performance) }: RoutingOptions,
): Promise<Database> {
  let newest: LogPosition = { epochBase: 0, revision: 0, writes: 0 }
  let samples: Sample[] = []
  let changed: ((state: StandbyState) => void) | null = null
  let primaryReads = 0
  let turn = 0
  let isClosed = false

  const readPresent = coalesce(async (): Promise<LogPosition> => {
    const began = clock()
    const { epochBase, revision, writes } = await readHead(primary.session)
    newest = { epochBase, revision, writes }
    const oldest = began - 2 * lagLimit
    const last = samples.at(-1)
    // Reads may follow each other closely. A sample less than a quarter of an interval old is not worth another one.
    if (!last || last.at <= began - checkInterval / 4 || last.position.epochBase !== epochBase)
      samples = [
        ...samples.filter(({ at }, index) => at >= oldest || index === samples.length - 1),
        { position: newest, at: began },
      ]
    return newest
  })
  await readPresent()

  const candidates = standbys.map((open, index): Candidate => {
    const standby = open({ epochBase: () => newest.epochBase, problemChanged: () => show(candidate) })
    const check = coalesce(() => checkOne(candidate))
    const candidate: Candidate = {
      number: index + 1,
      standby,
      check,
      included: null,
      isSlow: false,
      shownProblem: null,
    }
    return candidate
  })

  /** Milliseconds; infinite: unknown. */
  function ageOf(candidate: Candidate): number {
    const position = candidate.standby.position()
    const includesSample = (sample: Sample | null): sample is Sample =>
      sample !== null && position !== null && includes(position, sample.position)
    candidate.included =
      samples.findLast(includesSample) ?? (includesSample(candidate.included) ? candidate.included : null)
    return candidate.included ? clock() - candidate.included.at : Number.POSITIVE_INFINITY
  }

  function problemOf(candidate: Candidate): string | null {
    const problem = candidate.standby.problem()
    if (problem !== null) return problem
    if (candidate.standby.position()?.epochBase !== newest.epochBase) return 'it has another epoch than the primary'
    return ageOf(candidate) > lagLimit ? `it is more than ${lagLimit / 1_000} s behind` : null
  }

  function stateOf(candidate: Candidate): StandbyState {
    const { number, standby } = candidate
    const age = ageOf(candidate)
    const isLevel = candidate.included !== null && candidate.included === samples.at(-1)
    const revisions = Math.max(newest.revision - (standby.position()?.revision ?? 0), 0)
    const lag = Number.isFinite(age) ? { seconds: isLevel ? 0 : age / 1_000, revisions } : null
    return { number, location: standby.location, problem: problemOf(candidate), lag, reads: standby.reads() }
  }

  async function checkOne(candidate: Candidate): Promise<void> {
    const { standby } = candidate
    await standby.check()
    if (standby.problem() === null && (await standby.reach(newest))) candidate.isSlow = false
    show(candidate)
  }

  /** A read may notice a problem that is gone at the next check. */
  function show(candidate: Candidate): void {
    const problem = problemOf(candidate)
    if (problem === candidate.shownProblem || isClosed) return
    candidate.shownProblem = problem
    changed?.(stateOf(candidate))
  }

  /** A standby that does not answer delays the checks of no other. */
  async function checkAll(): Promise<void> {
    await orAborted(readPresent(), AbortSignal.timeout(checkInterval)).catch(() => undefined)
    for (const { check } of candidates) if (check.running() === null) void check()
  }

  void checkAll()
  const timer = setInterval(() => void checkAll(), checkInterval).unref()

  /** Those that include the position first, in turns. Then those that may get there. */
  function inOrder(position: LogPosition): Candidate[] {
    turn += 1
    const usable = candidates.filter((one) => problemOf(one) === null)
    const rotated = usable.map((_, index) => usable[(index + turn) % usable.length] as Candidate)
    const isThere = ({ standby }: Candidate): boolean => {
      const known = standby.position()
      return known !== null && includes(known, position)
    }
    return [...rotated.filter(isThere), ...rotated.filter((one) => !isThere(one) && !one.isSlow)]
  }

  async function fromStandby(position: LogPosition, signal: AbortSignal | undefined): Promise<Snapshot | null> {
    for (const candidate of inOrder(position)) {
      const { standby } = candidate
      if (!(await standby.reach(position))) {
        if (standby.problem() !== null) continue
        candidate.isSlow = true
        // The others have had the same time.
        return null
      }
      signal?.throwIfAborted()
      const snapshot = await standby.snapshot(position, signal)
      if (snapshot) return snapshot
    }
    return null
  }

  async function positionFor(freshness: Exclude<Freshness, 'primary'>): Promise<LogPosition> {
    if (freshness === 'present') return readPresent()
    // A revision that the primary does not have is of another database: no standby will ever have it.
    const present = freshness > newest.revision ? await readPresent().catch(() => null) : null
    return present && freshness > present.revision ? present : { epochBase: 0, revision: freshness, writes: 0 }
  }

  return {
    ...primary,
    async snapshot(signal, freshness = 'primary') {
      if (freshness !== 'primary') {
        const snapshot = await fromStandby(await orAborted(positionFor(freshness), signal), signal)
        if (snapshot) return snapshot
      }
      primaryReads += 1
      return primary.snapshot(signal)
    },
    standbys: {
      states: () => candidates.map(stateOf),
      primaryReads: () => primaryReads,
      onChange(notify) {
        changed = notify
      },
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      await Promise.all(candidates.map(({ standby }) => standby.close()))
      await primary.close()
    },
  }
}
