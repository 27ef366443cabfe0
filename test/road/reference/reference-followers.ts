/** Subscribers that follow the road while it is played, and what each should have received by now. */
import { expect } from 'vitest'
import type { Change } from '../../../src/domain/change.ts'
import type { ChangeFilter } from '../../../src/domain/nouns/change.ts'
import type { FeedEvent } from '../../../src/feed/event-queue.ts'
import type { Snapshot } from '../../../src/store/database.ts'
import type { Road } from '../../support/servers/road.ts'
import type { Image, ModelChange } from './reference-facts.ts'
import { allDeployments, type Names, readNames, showChange, showDeployment, showModelled } from './reference-shown.ts'

export interface Told {
  readonly log: readonly ModelChange[]
  readonly past: ReadonlyMap<number, readonly Image[]>
}

export interface Listener {
  isLive(): boolean
  /** All changes until now arrive, each once, in order. */
  settle(names: Names): Promise<void>
  /** At once, whatever is still on its way. */
  drop(names: Names): Promise<void>
  resume(road: Road, tail: number): void
}

const often = { interval: 2 }

const filters: readonly { readonly asked: ChangeFilter; takes(change: ModelChange): boolean }[] = [
  { asked: {}, takes: () => true },
  {
    asked: { deploymentIds: ['d-1'], kinds: ['DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED'] },
    takes: ({ id, kind }) =>
      id === 'd-1' && (kind === 'DEPLOYMENT_STATE_CHANGED' || kind === 'COMPONENT_STATE_CHANGED'),
  },
  { asked: { deviceIds: ['edge-1'] }, takes: ({ device }) => device === 'edge-1' },
  { asked: { components: ['a'] }, takes: ({ part }) => part === 'a' },
  { asked: { to: ['FAILED', 'INSTALLED'] }, takes: ({ to }) => to === 'FAILED' || to === 'INSTALLED' },
]

/** A subscriber of `changes` that remembers its cursor. */
export function createFollower({ log }: Told, which: number, start: number): Listener {
  const { asked, takes } = filters[which] ?? expect.unreachable()
  let stream: AsyncIterableIterator<FeedEvent> | null = null
  let events: FeedEvent[] = []
  let failure: unknown = null
  let cursor = start
  /** Where this run began. */
  let from = { revision: start, isReset: false }

  const expected = (): object[] => [
    ...(from.isReset ? [{ reset: 'CURSOR_EXPIRED', cursor: from.revision }] : []),
    ...log.filter((change) => change.revision > from.revision && takes(change)).map(showModelled),
  ]
  const shown = (names: Names): object[] =>
    events.map(({ cursor, change, reset }) => {
      expect(change?.revision ?? cursor).toBe(cursor)
      return change ? showChange(change, names) : { reset, cursor }
    })

  async function listen(to: AsyncIterableIterator<FeedEvent>): Promise<void> {
    for await (const event of to) {
      if (stream !== to) return
      events.push(event)
      cursor = event.cursor
    }
  }

  return {
    isLive: () => stream !== null,
    async settle(names) {
      if (stream === null) return
      const wanted = expected()
      await expect.poll(() => failure ?? Math.min(events.length, wanted.length), often).toBe(wanted.length)
      expect(shown(names)).toEqual(wanted)
    },
    async drop(names) {
      const left = stream
      stream = null
      await left?.return?.()
      expect(failure).toBeNull()
      expect(shown(names)).toEqual(expected().slice(0, events.length))
    },
    resume(road, tail) {
      if (stream) return
      from = { revision: Math.max(cursor, tail), isReset: cursor < tail }
      events = []
      const own = road.changes({ filter: asked, after: cursor })
      stream = own
      listen(own).catch((error: unknown) => {
        // A stream that was left before the feed closed may still fail: nothing reads it.
        if (stream === own) failure = error
      })
    },
  }
}

interface VisibleChange {
  readonly cursor: number
  readonly coalesced: number
  readonly changes: readonly Change[]
  readonly state: Promise<readonly object[]>
}

/** A subscriber of all deployments with one deploymentId; it begins again each time. */
export function createWatcher({ log, past }: Told, id: string): Listener {
  let stream: AsyncIterableIterator<object> | null = null
  let events: VisibleChange[] = []
  let failure: unknown = null

  const isOurs = (change: { readonly id: string | null }): boolean => change.id === id

  async function readState(snapshot: Snapshot): Promise<readonly object[]> {
    const names = await readNames(snapshot)
    return (await allDeployments(snapshot, { deploymentIds: [id] }, null)).map((row) => showDeployment(row, names))
  }

  async function listen(road: Road): Promise<void> {
    const watching = road.watch({ topics: [`deployment:${id}`] })
    stream = watching
    for await (const { cursor, coalesced, changes, snapshot, release } of watching) {
      const state = readState(snapshot)
      if (stream === watching) events.push({ cursor, coalesced, changes, state })
      await state.finally(release)
    }
  }

  async function check(names: Names): Promise<void> {
    expect(failure).toBeNull()
    let before: VisibleChange | null = null
    for (const seen of [...events]) {
      const { cursor, coalesced, changes } = seen
      const images = (past.get(cursor) ?? []).filter((image) => isOurs(image) && !image.forgotten)
      expect(new Set(await seen.state)).toEqual(new Set(images))
      const since: number = before?.cursor ?? cursor
      const led = log.filter((change) => isOurs(change) && change.revision > since && change.revision <= cursor)
      expect(changes.map((change) => showChange(change, names))).toEqual(led.map(showModelled))
      if (before) {
        expect(cursor).toBeGreaterThan(before.cursor)
        expect(coalesced).toBeLessThan(new Set(led.map(({ entry }) => entry)).size)
      }
      before = seen
    }
  }

  return {
    isLive: () => stream !== null,
    async settle(names) {
      if (stream === null) return
      const newest = log.findLast(isOurs)?.revision ?? 0
      await expect.poll(() => failure ?? Math.min(events.at(-1)?.cursor ?? -1, newest), often).toBe(newest)
      await check(names)
    },
    async drop(names) {
      const left = stream
      stream = null
      await left?.return?.()
      await check(names)
    },
    resume(road) {
      if (stream) return
      events = []
      const listening = listen(road)
      const own = stream
      listening.catch((error: unknown) => {
        // As above.
        if (stream === own) failure = error
      })
    },
  }
}
