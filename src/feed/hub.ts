/**
 * The live end of the log in this process. It has published everything up to `last`, in order, without a hole:
 *
 *   a batch of our own writer that begins at `last`      → published from memory
 *   a doorbell, a poll, or a batch after another server's → the log is read from `last` to its head
 *   any of them, while no subscriber has a topic          → `last` moves, and nothing is read
 *
 * Subscribers are indexed by topic, so a change costs what it matches, however many subscribers there are.
 */
import { type Change, formerRolloutOf } from '../domain/change.ts'
import type { Revision } from '../domain/values.ts'
import { coalesce } from '../store/connection/coalesce.ts'
import type { LogHead } from '../store/database.ts'
import { sizeOf } from './change-size.ts'

export type Topic =
  | 'all'
  | 'created'
  | `deployment:${string}`
  | `device:${string}`
  | `rollout:${number}`
  | `instance:${string}`

interface Subscriber {
  readonly topics: readonly Topic[]
  /** Called in the turn in which the hub's `last` moved, at most once a commit. Must not throw or wait. */
  changed(changes: readonly Change[]): void
  /** The log does not continue where the hub was: another epoch, or removed before it was read. Check the cursor. */
  interrupted(): void
  /** The changes up to this one are no longer in memory: a slow subscriber keeps none of them, and reads them again. Must not throw or wait. */
  dropped?(until: Revision): void
}

export interface LogReader {
  head(): Promise<LogHead>
  /** The changes of the next entries later than `after`, at most `limit`, ascending; none later than `until`. More may follow unless it is empty. */
  read(after: Revision, limit: number, until?: Revision): Promise<readonly Change[]>
}

export interface Hub {
  readonly last: Revision
  readonly size: number
  publish(since: Revision, changes: readonly Change[]): void
  /** Reads the log until the hub has reached at least this revision. */
  reach(revision: Revision): Promise<void>
  /** Reads the log until the hub has reached the head of the database. */
  follow(head: LogHead): Promise<void>
  /** Moves `last` to a revision without reading the changes before it. False: a subscriber would miss them. */
  advance(revision: Revision): boolean
  subscribe(subscriber: Subscriber): () => void
  /** Calls `moved` when `last` has moved. Reads nothing: for readers of the log with a cursor of their own. */
  onMove(moved: () => void): () => void
  /** The first of the changes after a revision. Null: they are no longer in memory. */
  recent(after: Revision, limit: number): readonly Change[] | null
}

const pageSize = 1_000
const noSubscribers: ReadonlySet<Subscriber> = new Set()

/** Bytes of the changes in memory. */
const mostBytes = 32 << 20

export function createHub(log: LogReader, start: LogHead, memory = 10_000, bytes = mostBytes): Hub {
  const index = new Map<Topic, Set<Subscriber>>()
  const subscribers = new Set<Subscriber>()
  const movers = new Set<() => void>()
  let last = start.revision
  let epochBase = start.epochBase
  let ring: Change[] = []
  /** The size of each change in the ring, and of all of them. */
  let sizes: number[] = []
  let ringSize = 0
  /** The ring holds everything later than this. */
  let ringStart = last

  function dispatch(changes: readonly Change[]): void {
    const newest = changes.at(-1)
    if (!newest) return
    if (index.size === 0) {
      // A subscriber that comes later and resumes reads the log.
      forgetUntil(newest.revision)
      return
    }
    last = newest.revision
    remember(changes)
    const concerned = new Map<Subscriber, Change[]>()
    let before: Change | null = null
    let ofSubject: readonly ReadonlySet<Subscriber>[] = []
    const collect = (subscribers: ReadonlySet<Subscriber>, change: Change): void => {
      for (const subscriber of subscribers) {
        const list = concerned.get(subscriber)
        if (!list) concerned.set(subscriber, [change])
        // Several of its topics may match.
        else if (list.at(-1) !== change) list.push(change)
      }
    }
    for (const change of changes) {
      // The changes of one report have one subject: its topics are looked up once.
      if (before === null || !haveOneSubject(before, change))
        ofSubject = topicsOfSubject(change).flatMap((topic) => index.get(topic) ?? [])
      for (const subscribers of ofSubject) collect(subscribers, change)
      for (const topic of topicsOfChange(change)) collect(index.get(topic) ?? noSubscribers, change)
      before = change
    }
    for (const [subscriber, list] of concerned) subscriber.changed(list)
    for (const moved of movers) moved()
  }

  function advance(revision: Revision): boolean {
    if (index.size > 0) return false
    if (revision > last) forgetUntil(revision)
    return true
  }

  function forgetUntil(revision: Revision): void {
    last = revision
    ring = []
    sizes = []
    ringSize = 0
    ringStart = last
    for (const moved of movers) moved()
  }

  function remember(changes: readonly Change[]): void {
    for (const change of changes) {
      const size = sizeOf(change)
      ring.push(change)
      sizes.push(size)
      ringSize += size
    }
    if (ring.length <= memory * 1.5 && ringSize <= bytes * 1.5) return
    let from = 0
    for (; ring.length - from > memory || ringSize > bytes; from += 1) ringSize -= sizes[from] ?? 0
    ring = ring.slice(from)
    sizes = sizes.slice(from)
    ringStart = (ring[0]?.revision ?? last + 1) - 1
    for (const subscriber of [...subscribers]) subscriber.dropped?.(ringStart)
  }

  async function readToHead(): Promise<void> {
    const head = await log.head()
    if (head.epochBase !== epochBase) {
      epochBase = head.epochBase
      interrupt(head.epochBase)
    }
    while (last < head.revision && !advance(head.revision)) {
      const changes = (await log.read(last, pageSize)).filter((change) => change.revision > last)
      const next = changes[0]?.revision ?? head.revision + 1
      if (next > last + 1) interrupt(next - 1)
      dispatch(changes)
    }
  }

  function interrupt(at: Revision): void {
    forgetUntil(at)
    for (const subscriber of [...subscribers]) subscriber.interrupted()
  }

  const catchUp = coalesce(readToHead)

  return {
    get last() {
      return last
    },
    get size() {
      return subscribers.size
    },
    publish(since, changes) {
      const isNext = (): boolean => since === last && catchUp.running() === null
      if (isNext()) return dispatch(changes)
      if (catchUp.running() === null && advance(changes.at(-1)?.revision ?? since)) return
      const reading = catchUp.running() ?? catchUp()
      reading
        .then(() => {
          if (last >= (changes.at(-1)?.revision ?? since)) return
          // These changes are still in memory: only a gap before them must be read.
          if (isNext()) dispatch(changes)
          else return catchUp()
        })
        .catch(ignore)
    },
    async reach(revision) {
      if (last < revision) await catchUp()
    },
    advance: (revision) => catchUp.running() === null && advance(revision),
    follow: (head) => (head.revision === last && head.epochBase === epochBase ? Promise.resolve() : catchUp()),
    subscribe(subscriber) {
      subscribers.add(subscriber)
      for (const topic of subscriber.topics) {
        const set = index.get(topic)
        if (set) set.add(subscriber)
        else index.set(topic, new Set([subscriber]))
      }
      return () => {
        subscribers.delete(subscriber)
        for (const topic of subscriber.topics) {
          const set = index.get(topic)
          set?.delete(subscriber)
          if (set?.size === 0) index.delete(topic)
        }
      }
    },
    onMove(moved) {
      movers.add(moved)
      return () => void movers.delete(moved)
    },
    recent(after, limit) {
      if (after < ringStart) return null
      let [from, to] = [0, ring.length]
      while (from < to) {
        const middle = (from + to) >> 1
        if ((ring[middle]?.revision ?? 0) > after) to = middle
        else from = middle + 1
      }
      return ring.slice(from, from + limit)
    },
  }
}

/** The next poll reads the log again. */
function ignore(): void {}

function haveOneSubject(one: Change, other: Change): boolean {
  return (
    one.deploymentId === other.deploymentId &&
    one.targetName === other.targetName &&
    one.fromTargetName === other.fromTargetName &&
    one.rolloutKey === other.rolloutKey &&
    one.instanceId === other.instanceId
  )
}

function topicsOfSubject(change: Change): Topic[] {
  const topics: Topic[] = ['all']
  if (change.deploymentId !== null) topics.push(`deployment:${change.deploymentId}`)
  if (change.targetName !== null) topics.push(`device:${change.targetName}`)
  if (change.fromTargetName !== null) topics.push(`device:${change.fromTargetName}`)
  if (change.rolloutKey !== null) topics.push(`rollout:${change.rolloutKey}`)
  if (change.instanceId !== null) topics.push(`instance:${change.instanceId}`)
  return topics
}

function topicsOfChange(change: Change): readonly Topic[] {
  const formerRollout = formerRolloutOf(change)
  const isCreated = mayCreate(change)
  if (formerRollout === null && !isCreated) return noTopics
  return [
    ...(formerRollout === null ? [] : [`rollout:${formerRollout}` as const]),
    ...(isCreated ? (['created'] as const) : []),
  ]
}

const noTopics: readonly Topic[] = []

/** Rollouts and deployments are created by a first state or by a declaration. */
function mayCreate(change: Change): boolean {
  if (change.kind === 'LIFECYCLE_ACTION_RECORDED' || change.kind === 'INSTANCE_STATUS_CHANGED') return true
  return change.kind === 'DEPLOYMENT_REVISED' || (change.kind === 'DEPLOYMENT_STATE_CHANGED' && change.from === null)
}
