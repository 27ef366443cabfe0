/** Reads the next batch, in one snapshot of the database that is closed before the batch is sent: an embedded database has one connection. */
import { type Batch, type SitePosition, siteProtocol } from '../../domain/sites/batch.ts'
import type { Millis } from '../../domain/values.ts'
import { build } from '../../platform/version.ts'
import { readRange } from '../../store/connection/log-head.ts'
import type { Database, Session } from '../../store/database.ts'
import { factsAfter } from '../../store/read/sites/sent-facts.ts'
import { statesAfter } from '../../store/read/sites/sent-states.ts'
import { changedTargets, targetsOf } from '../../store/read/sites/sent-targets.ts'
import { type Cursor, changesAfter, cursorAt, cursorIn, endOf, type Range, type Start, startOf } from './cursor.ts'

export interface NextBatch {
  readonly batch: Batch
  /** Whether it says anything but how far the log was read. */
  readonly isEmpty: boolean
  /** Whether nothing is left after it. */
  readonly isLevel: boolean
  /** Once the receiver has taken it. */
  readonly onceTaken: Cursor
  /** Of the log, when it was read. */
  readonly head: SitePosition
  /** Why a snapshot begins. Null: none does. */
  readonly why: string | null
}

export interface BatchesOptions {
  readonly database: Pick<Database, 'snapshot'>
  readonly clock: () => Millis
}

/** Targets, and states of a snapshot, in one batch. */
const mostTargets = 1_000
/** Entries of the log in one batch. */
export const mostEntries = 2_000

/** `share`: of the usual size of a batch, for a slow link. */
export async function nextBatch({ database, clock }: BatchesOptions, cursor: Cursor, share = 1): Promise<NextBatch> {
  const snapshot = await database.snapshot()
  try {
    const [range] = await Promise.all([readRange(snapshot), snapshot.head])
    const start = startOf(cursor, range)
    const found =
      start.of === 'log'
        ? await readFacts(snapshot, cursor, start, range, share)
        : await readStates(snapshot, start, share)
    const sender = { protocol: siteProtocol, version: build.version, sentAt: clock() }
    const backlog = changesAfter(found.body.upTo.revision, range)
    return {
      batch: { ...sender, ...found.body, backlog },
      ...found.is,
      onceTaken: found.onceTaken,
      head: endOf(range.head),
    }
  } finally {
    await snapshot.close()
  }
}

interface Read {
  readonly body: Omit<Batch, 'protocol' | 'version' | 'sentAt' | 'backlog'>
  readonly is: Pick<NextBatch, 'isEmpty' | 'isLevel' | 'why'>
  readonly onceTaken: Cursor
}

type StartOf<Of extends Start['of']> = Extract<Start, { readonly of: Of }>

const sizeOf = (most: number, share: number): number => Math.max(Math.floor(most * share), 1)

async function readFacts(
  session: Session,
  { reportsAfter, unknown }: Cursor,
  { after, read }: StartOf<'log'>,
  { head }: Range,
  share: number,
): Promise<Read> {
  const changed = await changedTargets(session, read.writes, head.writes, sizeOf(mostTargets, share))
  // Facts refer to targets, so all of these go first.
  if (changed.writes < head.writes) {
    const upTo = { epoch: head.epochBase, revision: after.revision, writes: changed.writes }
    const is = { isEmpty: false, isLevel: false, why: null }
    return { body: { after, upTo, targets: changed.targets }, is, onceTaken: cursorAt(upTo, reportsAfter) }
  }
  const most = sizeOf(mostEntries, share)
  const found = await factsAfter(session, {
    ...{ after: read.revision, most, reportsAfter, unknown: unknown.deployments },
  })
  const targets = [...changed.targets, ...(await targetsOf(session, unknown.targets))]
  const upTo = { ...endOf(head), revision: found.upTo ?? head.revision }
  const { facts, newestReport } = found
  return {
    body: { after, upTo, ...(targets.length > 0 && { targets }), ...(facts.length > 0 && { facts }) },
    is: { isEmpty: targets.length + facts.length === 0, isLevel: upTo.revision === head.revision, why: null },
    onceTaken: cursorAt(upTo, newestReport),
  }
}

async function readStates(session: Session, { upTo, after, why }: StartOf<'snapshot'>, share: number): Promise<Read> {
  const { states, targets, to, isLast } = await statesAfter(session, after, sizeOf(mostTargets, share))
  return {
    body: { after: null, upTo, targets, snapshot: { after, to, states, isLast } },
    is: { isEmpty: false, isLevel: false, why },
    onceTaken: isLast ? cursorAt(upTo) : cursorIn({ upTo, after: to }),
  }
}
