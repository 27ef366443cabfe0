/** Groups of subscribers over a log in memory, and the steps that are played on them. */
import fc from 'fast-check'
import { GraphQLError } from 'graphql'
import { expect } from 'vitest'
import { createEventResult, type EventResult } from '../../../src/api/graphql/execution/event-result.ts'
import type { SubscriberGroups } from '../../../src/api/graphql/execution/subscriber-group.ts'
import { createSource, type Source, type SourceEvent } from '../../../src/api/graphql/subscriptions/event-source.ts'
import { type React, streamState } from '../../../src/api/graphql/subscriptions/state-stream.ts'
import type { Change } from '../../../src/domain/change.ts'
import { everyone } from '../../../src/domain/principal.ts'
import { createBacklog } from '../../../src/feed/backlog.ts'
import { type ChangePosition, createChangeStream } from '../../../src/feed/change-stream.ts'
import type { FeedEvent } from '../../../src/feed/event-queue.ts'
import { createHub, type LogReader } from '../../../src/feed/hub.ts'
import { createWatchStream } from '../../../src/feed/watch-stream.ts'
import type { Snapshot } from '../../../src/store/database.ts'

/** Sources of a deployment's changes: only the feed, over a log in memory. */
export function createUnitOfWork() {
  // The log is never empty: the head of an empty log is not a cursor.
  const log: Change[] = [
    { revision: 1, kind: 'DEPLOYMENT_STALLED', ...subject, deploymentId: other } as unknown as Change,
  ]
  const headNow = () => ({ revision: log.length, epochBase: 0, tail: 0, tailAt: 0, at: 0, writes: 0 })
  const reader: LogReader = {
    head: async () => headNow(),
    read: async (after: number, limit: number, until = log.length) => log.slice(after, Math.min(until, after + limit)),
  }
  const hub = createHub(reader, headNow())
  const backlog = createBacklog(reader, hub)
  const range = async () => ({ head: log.length, tail: 0, epochs: [{ base: 0, ended: null }] })
  const refresher = {
    async join() {
      const { revision } = headNow()
      await hub.reach(revision)
      return { snapshot: { derived: new Map() } as unknown as Snapshot, revision, release: () => {} }
    },
  }
  const rest = { whenReadable: () => {}, capacity: 1_000, subscribers: () => 1 }
  const setSubscriberCount = (): void => {}
  return {
    hub,
    log,
    /** A commit with these changes. For a commit of another replica, the hub learns of it later. */
    commit(deployments: readonly string[], isElsewhere = false) {
      const since = log.length
      for (const deploymentId of deployments)
        log.push({
          revision: log.length + 1,
          kind: 'DEPLOYMENT_STALLED',
          ...subject,
          deploymentId,
        } as unknown as Change)
      if (!isElsewhere) hub.publish(since, log.slice(since))
    },
    feed: {
      hub,
      watch: (options: Parameters<typeof createWatchStream>[1]) =>
        Object.assign(createWatchStream({ hub, refresher, ...rest }, options), { setSubscriberCount }),
      changes: (options: Parameters<typeof createChangeStream>[1]) =>
        Object.assign(createChangeStream({ hub, backlog, range, ...rest }, options), { setSubscriberCount }),
    },
  }
}

export type UnitOfWork = ReturnType<typeof createUnitOfWork>

const subject = {
  targetName: null,
  fromTargetName: null,
  rolloutKey: null,
  fromRolloutKey: null,
  instanceId: null,
  labels: [],
}
export const [watched, unseen, other] = ['watched', 'unseen', 'other']

/** An update: its changes, the number of commits, and the update before. */
export interface Update {
  readonly cursor: number
  readonly revisions: readonly number[]
  readonly coalesced: number
  readonly value: number
  readonly before: number | null
}

/** A state: the number of watched changes. Events without any watched change are skipped. */
export function watchState({ feed, log }: UnitOfWork, executed: () => void, key = 'state'): Source<unknown> {
  const react: React<Update, number> = async (_, { cursor, coalesced, changes }, { memory }) => {
    executed()
    await Promise.resolve()
    if (changes.length > 0 && changes.every(({ deploymentId }) => deploymentId === unseen)) return { skip: true }
    const value = log.filter(({ revision, deploymentId }) => revision <= cursor && deploymentId === watched).length
    const revisions = changes.map(({ revision }) => revision)
    return { send: { cursor, revisions, coalesced, value, before: memory }, memory: value }
  }
  const topics = [`deployment:${watched}`, `deployment:${unseen}`] as const
  return streamState({ feed: feed as never, principal: everyone, whose: '' }, key, { topics }, react)
}

export function watchChanges({ feed, log }: UnitOfWork, executed: () => void): Source<unknown> {
  const from = (position?: ChangePosition): Source<unknown> => {
    const filter = { deploymentIds: [watched] }
    const changes = feed.changes({ filter, after: log.length, from: position })
    const eventOf = (value: FeedEvent | 'idle' | 'ended') =>
      typeof value === 'string'
        ? value
        : { payload: value, resumeFrom: value.cursor, snapshot: null, release: () => {} }
    return createSource({
      ...changes,
      key: 'changes',
      start: null,
      next() {
        executed()
        const event = changes.next()
        return event instanceof Promise ? event.then(eventOf) : eventOf(event)
      },
      stateKey: () => '',
      fork: () => from(changes.before()),
    })
  }
  return from()
}

/** A subscriber that takes events as fast as it reads. */
export function join<Told>(groups: SubscriberGroups, key: string, source: Source<unknown>) {
  const told: Told[] = []
  let isSlow = false
  let isBusy = false
  let read = (): void => {}
  let executions = 0
  // Half of the results are cached.
  const execute = ({ payload }: SourceEvent) => {
    executions += 1
    const result = createEventResult({ data: payload as never })
    return executions % 2 === 0 ? result : Promise.resolve(result)
  }
  const leave = groups.join(
    source,
    { rights: '', key, document: {}, execute },
    {
      take({ result: { data } }) {
        expect(isBusy, 'a busy subscriber gets no event').toBe(false)
        told.push(data as Told)
        if (!isSlow) return
        isBusy = true
        return new Promise((resolve) => {
          read = () => {
            isBusy = false
            resolve()
          }
        })
      },
      end: () => expect.unreachable(),
      fail: (error) => expect.unreachable(String(error)),
    },
  )
  return {
    told,
    leave,
    /** The next event makes the subscriber busy. */
    tire() {
      isSlow = true
    },
    wake() {
      isSlow = false
      read()
    },
  }
}

interface JoinOptions {
  readonly rights?: string
  readonly key: string
  readonly document: object
  readonly fails?: boolean
  /** Before each result. */
  readonly wait?: () => Promise<void>
}

/** A subscriber with an operation of its own, that is never busy. */
export function joinWith(groups: SubscriberGroups, source: Source<unknown>, options: JoinOptions) {
  const { rights = '', key, document, fails = false, wait } = options
  const results: EventResult[] = []
  const failures: unknown[] = []
  let executions = 0
  const execute = ({ payload }: SourceEvent) => {
    executions += 1
    const errors = fails ? { errors: [new GraphQLError('failed')] } : {}
    const result = createEventResult({ data: payload as never, ...errors }, null, false, document)
    return wait ? wait().then(() => result) : result
  }
  const leave = groups.join(
    source,
    { rights, key, document, execute },
    {
      take: (result) => void results.push(result),
      end: () => expect.unreachable(),
      fail: (error) => void failures.push(error),
    },
  )
  return { results, failures, leave, executions: () => executions }
}

export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

const who = fc.array(fc.constantFrom(watched, unseen, other), { minLength: 1, maxLength: 3 })
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('commit', 'commit elsewhere'),
      who,
      mutex: fc.constantFrom(0, 3, 9, 200),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('join', 'tire', 'tire', 'wake', 'leave'), nth: fc.nat(3) }) },
)
export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never
export const steps = fc.array(step, { maxLength: 50, size: 'max' })
