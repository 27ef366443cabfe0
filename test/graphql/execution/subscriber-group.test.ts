import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSubscriberGroups } from '../../../src/api/graphql/execution/subscriber-group.ts'
import type { Source } from '../../../src/api/graphql/subscriptions/event-source.ts'
import { someOf } from '../../support/runner/depth.ts'
import {
  createUnitOfWork,
  join,
  joinWith,
  type Step,
  settle,
  steps,
  type UnitOfWork,
  type Update,
  watchChanges,
  watched,
  watchState,
} from './subscriber-group-model.ts'

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
      { numRuns: someOf(20, 150) },
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
      { numRuns: someOf(20, 150) },
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

  it('uses separate lines for what differs: the source or the rights', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    for (const [key, rights] of [
      ['one', 'viewer'],
      ['two', 'viewer'],
      ['one', 'viewer'],
      ['one', 'admin'],
    ] as const)
      joinWith(
        groups,
        watchState(world, () => {}, key),
        { rights, key: 'all', document: {} },
      )
    await settle()
    expect(world.hub.size).toBe(4)
  })

  it('reads an event once for different operations, and executes each of them once', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    let reads = 0
    const read = (): void => {
      reads += 1
    }
    const source = () => watchState(world, read)
    const members = ['a', 'b', 'a', 'b', 'a'].map((key) => joinWith(groups, source(), { key, document: {} }))
    await settle()
    expect(world.hub.size).toBe(2)
    const executed = (): number => members.reduce((sum, { executions }) => sum + executions(), 0)
    const [readsBefore, before] = [reads, executed()]
    world.commit([watched])
    await settle()
    expect([reads - readsBefore, executed() - before]).toEqual([1, 2])
    for (const { results } of members) expect(results.at(-1)?.result.data).toMatchObject({ value: 1 })
    expect(members[2]?.results.at(-1)).toBe(members[0]?.results.at(-1))
    expect(members[1]?.results.at(-1)).not.toBe(members[0]?.results.at(-1))
  })

  it('gives errors, which have locations, to each document on its own', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    const [first, other] = [{}, {}]
    const members = [first, other, first, other].map((document) =>
      joinWith(
        groups,
        watchState(world, () => {}),
        { key: 'same', document, fails: true },
      ),
    )
    await settle()
    world.commit([watched])
    await settle()
    expect(members.map(({ results }) => results.at(-1)?.document === first)).toEqual([true, false, true, false])
    for (const { results } of members) expect(results.at(-1)?.result.errors).toHaveLength(1)
  })

  it('is not delayed by an operation that takes long, whose subscriber gets what followed later', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    let pending: (() => void)[] = []
    const wait = (): Promise<void> => new Promise((resolve) => void pending.push(resolve))
    const slow = joinWith(
      groups,
      watchState(world, () => {}),
      { key: 'slow', document: {}, wait },
    )
    const quick = joinWith(
      groups,
      watchState(world, () => {}),
      { key: 'quick', document: {} },
    )
    await settle()
    for (const go of pending.splice(0)) go()
    await settle()
    for (let commit = 1; commit <= 3; commit += 1) {
      world.commit([watched])
      await expect.poll(() => quick.results.at(-1)?.result.data).toMatchObject({ value: commit, coalesced: 0 })
    }
    expect(slow.results.at(-1)?.result.data).toMatchObject({ value: 0 })
    await expect
      .poll(() => {
        for (const go of pending) go()
        pending = []
        return slow.results.at(-1)?.result.data
      })
      .toMatchObject({ value: 3 })
    const revisions = slow.results.flatMap(({ result }) => (result.data as unknown as Update).revisions)
    expect(revisions).toEqual([2, 3, 4])
    slow.leave()
    quick.leave()
    expect(world.hub.size).toBe(1)
  })

  it('ends only the subscribers of an operation whose execution fails unexpectedly', async () => {
    const world = createUnitOfWork()
    const groups = createSubscriberGroups()
    const failure = new Error('unexpected')
    const broken = joinWith(
      groups,
      watchState(world, () => {}),
      {
        key: 'broken',
        document: {},
        wait: async () => Promise.reject(failure),
      },
    )
    const sound = joinWith(
      groups,
      watchState(world, () => {}),
      { key: 'sound', document: {} },
    )
    await settle()
    world.commit([watched])
    await settle()
    expect(broken.failures).toEqual([failure])
    expect(sound.results.at(-1)?.result.data).toMatchObject({ value: 1 })
    expect(world.hub.size).toBe(2)
  })
})
