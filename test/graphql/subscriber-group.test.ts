import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { everyone } from '../../src/domain/principal.ts'
import { createBacklog } from '../../src/feed/backlog.ts'
import { createChangeStream, type FeedEvent } from '../../src/feed/change-stream.ts'
import { createHub, type LogReader } from '../../src/feed/hub.ts'
import { createWatchStream } from '../../src/feed/watch-stream.ts'
import { createEventResult } from '../../src/graphql/execution/event-result.ts'
import { createSubscriberGroups, type SubscriberGroups } from '../../src/graphql/execution/subscriber-group.ts'
import { createSource, type Source, type SourceEvent } from '../../src/graphql/subscriptions/event-source.ts'
import { type React, streamState } from '../../src/graphql/subscriptions/state-stream.ts'
import type { Snapshot } from '../../src/store/database.ts'

/** Sources of a deployment's changes: only the feed, over a log in memory. */
function createUnitOfWork() {
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
      return { snapshot: {} as Snapshot, revision, release: () => {} }
    },
  }
  const rest = { whenBack: () => {}, capacity: 1_000 }
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

type UnitOfWork = ReturnType<typeof createUnitOfWork>

const subject = {
  targetName: null,
  fromTargetName: null,
  rolloutKey: null,
  fromRolloutKey: null,
  instanceId: null,
  labels: [],
}
const [watched, unseen, other] = ['watched', 'unseen', 'other']

/** An update: its changes, the number of commits, and the update before. */
interface Update {
  readonly cursor: number
  readonly revisions: readonly number[]
  readonly coalesced: number
  readonly value: number
  readonly before: number | null
}

/** A state: the number of watched changes. Events without any watched change are skipped. */
function watchState({ feed, log }: UnitOfWork, executed: () => void): Source<unknown> {
  const react: React<Update, number> = async (_, { cursor, coalesced, changes }, { memory }) => {
    executed()
    await Promise.resolve()
    if (changes.length > 0 && changes.every(({ deploymentId }) => deploymentId === unseen)) return { skip: true }
    const value = log.filter(({ revision, deploymentId }) => revision <= cursor && deploymentId === watched).length
    const revisions = changes.map(({ revision }) => revision)
    return { send: { cursor, revisions, coalesced, value, before: memory }, memory: value }
  }
  const topics = [`deployment:${watched}`, `deployment:${unseen}`] as const
  return streamState({ feed: feed as never, principal: everyone, whose: '' }, { topics }, react)
}

function watchChanges({ feed, log }: UnitOfWork, executed: () => void): Source<unknown> {
  const from = (position?: ReturnType<ReturnType<UnitOfWork['feed']['changes']>['before']>): Source<unknown> => {
    let idle = (): void => {}
    const filter = { deploymentIds: [watched] }
    const changes = feed.changes({ filter, after: log.length, from: position, idle: () => idle() })
    const eventOf = (value: FeedEvent) => ({
      payload: value,
      resumeFrom: value.cursor,
      snapshot: null,
      release: () => {},
    })
    return createSource({
      take() {
        const value = changes.take()
        return value && eventOf(value)
      },
      async pull() {
        executed()
        const { done, value } = await changes.next()
        return done ? null : eventOf(value)
      },
      close: () => changes.return(),
      isIdle: changes.isIdle,
      stateKey: () => '',
      fork: () => from(changes.before()),
      whenIdle(tell) {
        idle = tell
      },
      setSubscriberCount: () => {},
    })
  }
  return from()
}

/** A subscriber that takes events as fast as it reads. */
function join<Told>(groups: SubscriberGroups, key: string, source: Source<unknown>) {
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
  const leave = groups.join(key, source, execute, {
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
  })
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

const settle = async (): Promise<void> => {
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
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never
const steps = fc.array(step, { maxLength: 50, size: 'max' })

describe('a group of subscribers that join, leave and read slowly', () => {
  async function play<Told>(
    taken: readonly Step[],
    watch: (world: UnitOfWork, executed: () => void) => Source<unknown>,
    check: (told: readonly Told[], joinedAt: number, world: UnitOfWork) => void,
  ): Promise<void> {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    const members: { readonly at: number; readonly member: ReturnType<typeof join<Told>> }[] = []
    const come = (): void =>
      void members.push({
        at: world.log.length,
        member: join<Told>(
          groups,
          'all',
          watch(world, () => {}),
        ),
      })
    come()
    for (const one of taken) {
      if ('who' in one) {
        world.commit(one.who, one.do === 'commit elsewhere')
        for (let turn = 0; turn < one.mutex; turn += 1) await Promise.resolve()
      } else if (one.do === 'join') come()
      else if (one.do === 'leave') members.splice(one.nth, 1)[0]?.member.leave()
      else members[one.nth]?.member[one.do as 'tire' | 'wake']()
    }
    await world.hub.reach(world.log.length)
    for (const { member } of members) member.wake()
    await settle()
    // They share one line again after the next event at the latest.
    world.commit([watched])
    await settle()
    await settle()
    for (const { at, member } of members) check(member.told, at, world)
    // The backlog is a listener too.
    expect(world.hub.size).toBe(members.length > 0 ? 2 : 1)
    for (const { member } of members) member.leave()
    expect(world.hub.size).toBe(1)
  }

  it('gets each change once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (taken) =>
        play<{ cursor: number }>(taken, watchChanges, (told, joinedAt, { log }) => {
          const expected = log.filter(({ revision, deploymentId }) => revision > joinedAt && deploymentId === watched)
          expect(told.map(({ cursor }) => cursor)).toEqual(expected.map(({ revision }) => revision))
        }),
      ),
      { numRuns: 150 },
    )
  })

  it('gets a state with all changes that led to it, and the number of merged commits', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (taken) =>
        play<Update>(taken, watchState, (told, _, { log }) => {
          const [first, ...rest] = told
          if (!first) return expect.unreachable('there is always a present')
          expect(first).toMatchObject({ revisions: [], coalesced: 0, before: null })
          const revisions = rest.flatMap((update) => update.revisions)
          expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b))
          const due = log.filter(({ revision, deploymentId }) => revision > first.cursor && deploymentId === watched)
          expect(revisions.filter((revision) => log[revision - 1]?.deploymentId === watched)).toEqual(
            due.map(({ revision }) => revision),
          )
          for (const [index, update] of rest.entries()) {
            expect(update.before).toBe(told[index]?.value)
            expect(update.cursor).toBeGreaterThan(told[index]?.cursor ?? 0)
            expect(update.coalesced).toBeLessThan(update.revisions.length)
          }
          expect(told.at(-1)?.value).toBe(log.filter(({ deploymentId }) => deploymentId === watched).length)
        }),
      ),
      { numRuns: 150 },
    )
  })

  it('costs as much as one subscriber', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    let executions = 0
    const executed = (): void => {
      executions += 1
    }
    const members = Array.from({ length: 20 }, () => join<Update>(groups, 'all', watchState(world, executed)))
    await settle()
    executions = 0
    for (let commit = 1; commit <= 3; commit += 1) {
      world.commit([watched])
      await settle()
    }
    expect(executions).toBe(3)
    // It is the same object, too.
    for (const { told } of members)
      for (const [index, update] of told.slice(1).entries()) expect(update).toBe(members[0]?.told[index + 1])
  })

  it('is not delayed by a subscriber that does not read, which catches up later', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    const [slow, ...quick] = Array.from({ length: 5 }, () =>
      join<Update>(
        groups,
        'all',
        watchState(world, () => {}),
      ),
    )
    if (!slow) return expect.unreachable()
    await settle()
    slow.tire()
    for (let commit = 1; commit <= 4; commit += 1) {
      world.commit([watched])
      await settle()
      for (const { told } of quick) expect(told.at(-1)).toMatchObject({ value: commit, coalesced: 0 })
    }
    expect(slow.told.at(-1)).toMatchObject({ value: 1 })
    slow.wake()
    await settle()
    expect(slow.told.at(-1)).toEqual({ cursor: 5, revisions: [3, 4, 5], coalesced: 2, value: 4, before: 1 })
    expect(world.hub.size).toBe(2)
  })

  it('uses separate lines for different operations', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    for (const key of ['one', 'two', 'one'])
      join(
        groups,
        key,
        watchState(world, () => {}),
      )
    await settle()
    expect(world.hub.size).toBe(3)
  })
})
