import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Change } from '../../src/domain/change.ts'
import { oldestRetained } from '../../src/domain/values.ts'
import type { BacklogPage } from '../../src/feed/backlog.ts'
import { createChangeStream } from '../../src/feed/change-stream.ts'
import { type Input, type State, step } from '../../src/feed/change-stream-state.ts'
import type { FeedEvent } from '../../src/feed/event-queue.ts'
import { createHub, type Hub } from '../../src/feed/hub.ts'

const change = (revision: number, deploymentId = 'd-1'): Change =>
  ({ revision, deploymentId, kind: 'DEPLOYMENT_STALLED', labels: [], ...noSubject }) as unknown as Change
const noSubject = { targetName: null, fromTargetName: null, rolloutKey: null, fromRolloutKey: null, instanceId: null }
const page = (first: number, last: number): BacklogPage => ({
  changes: Array.from({ length: last - first + 1 }, (_, index) => change(first + index)),
  upTo: last,
})
const log = { head: 9, tail: 2, epochs: [{ base: 0, ended: null }] }

type StateName = State['name'] | 'unchecked, no cursor' | 'unchecked, expired' | 'unchecked, from the beginning'

const states: Record<StateName, State> = {
  'unchecked, no cursor': { name: 'unchecked', position: null, hasBegun: false },
  unchecked: { name: 'unchecked', position: 5, hasBegun: true },
  'unchecked, expired': { name: 'unchecked', position: 1, hasBegun: true },
  'unchecked, from the beginning': { name: 'unchecked', position: oldestRetained, hasBegun: false },
  reading: { name: 'reading', position: 5 },
  verifying: { name: 'verifying', position: 5, page: page(7, 8) },
  live: { name: 'live', position: 5 },
  ended: { name: 'ended', failure: null },
}

type InputName = Input['kind'] | 'page, old' | 'page with a hole' | 'published again' | 'caught-up, behind the hub'

const inputs: Record<InputName, Input> = {
  checked: { kind: 'checked', log, last: 9 },
  page: { kind: 'page', page: page(6, 8) },
  'page, old': { kind: 'page', page: page(3, 5) },
  'page with a hole': { kind: 'page', page: page(7, 8) },
  'caught-up': { kind: 'caught-up', last: 5 },
  'caught-up, behind the hub': { kind: 'caught-up', last: 6 },
  published: { kind: 'published', changes: [change(5), change(7)] },
  'published again': { kind: 'published', changes: [change(4), change(5)] },
  interrupted: { kind: 'interrupted' },
  bookmark: { kind: 'bookmark', last: 6 },
  outage: { kind: 'outage' },
  overflow: { kind: 'overflow' },
  behind: { kind: 'behind', position: 3 },
  close: { kind: 'close' },
}

/** The next state, its position, and the cursors of the events. 'same': nothing happens. */
type Expected = 'same' | readonly [State['name'], number | null, ...number[]]

const ended: Expected = ['ended', null]
const untouched = {
  'page, old': 'same',
  'published again': 'same',
  'caught-up, behind the hub': 'same',
  interrupted: 'same',
  overflow: 'same',
  behind: 'same',
  bookmark: 'same',
  published: 'same',
  close: ended,
} as const
const unread = { page: 'same', 'page with a hole': 'same', 'caught-up': 'same' } as const

const table: Record<StateName, Record<InputName, Expected>> = {
  'unchecked, no cursor': { ...untouched, ...unread, checked: ['reading', 9], outage: 'same' },
  unchecked: { ...untouched, ...unread, checked: ['reading', 5], outage: 'same' },
  'unchecked, expired': { ...untouched, ...unread, checked: ['reading', 2, 2], outage: 'same' },
  'unchecked, from the beginning': { ...untouched, ...unread, checked: ['reading', 2], outage: 'same' },
  reading: {
    ...untouched,
    checked: 'same',
    page: ['reading', 8, 6, 7, 8],
    'page with a hole': ['verifying', 5],
    'caught-up': ['live', 5],
    outage: ['unchecked', 5],
  },
  verifying: { ...untouched, ...unread, checked: ['reading', 8, 7, 8], outage: ['unchecked', 5] },
  live: {
    ...untouched,
    ...unread,
    checked: 'same',
    published: ['live', 7, 7],
    interrupted: ['unchecked', 5],
    bookmark: ['live', 6, 6],
    outage: 'same',
    overflow: ended,
    behind: ['reading', 3],
  },
  ended: { ...untouched, ...unread, checked: 'same', outage: 'same', close: 'same' },
}

describe('the states of a subscriber of changes', () => {
  for (const [name, expectations] of Object.entries(table))
    for (const [input, expected] of Object.entries(expectations))
      it(`${name}, on ${input}`, () => {
        const from = states[name as StateName]
        const { state, events } = step(from, inputs[input as InputName])
        if (expected === 'same') return expect({ state, events }).toEqual({ state: from, events: [] })
        const [next, position, ...cursors] = expected
        expect([state.name, 'position' in state ? state.position : null]).toEqual([next, position])
        expect(events.map(({ cursor }) => cursor)).toEqual(cursors)
      })

  it('drop a page with a hole if the cursor has expired', () => {
    const { state, events } = step(states.verifying, { kind: 'checked', log: { ...log, tail: 6 }, last: 9 })
    expect(state).toEqual({ name: 'reading', position: 6 })
    expect(events).toEqual([{ cursor: 6, change: null, reset: 'CURSOR_EXPIRED' }])
  })

  it('continue after the end of an earlier epoch without a reset', () => {
    const epochs = [
      { base: 0, ended: 5 },
      { base: 100, ended: null },
    ]
    const { state, events } = step(states.unchecked, {
      kind: 'checked',
      log: { head: 101, tail: 2, epochs },
      last: 101,
    })
    expect({ state, events }).toEqual({ state: { name: 'reading', position: 100 }, events: [] })
  })

  it('publish only what matches, and advance past the rest', () => {
    const published: Input = { kind: 'published', changes: [change(6, 'other'), change(7), change(8, 'other')] }
    const { state, events } = step(states.live, published, { deploymentIds: ['d-1'] })
    expect(state).toEqual({ name: 'live', position: 8 })
    expect(events.map(({ cursor }) => cursor)).toEqual([7])
  })
})

/** Faults of what surrounds a stream: each affects what comes next. */
const fault = fc.constantFrom('lose a read', 'an old page', 'delay a read', 'publish twice', 'publish an older commit')
const action = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('commit', 'commit elsewhere', 'commit another') },
  { weight: 3, arbitrary: fc.constantFrom('take', 'take', 'breathe', 'bookmark', 'begin an epoch') },
  { weight: 4, arbitrary: fault },
)

describe('a subscriber of changes', () => {
  it('gets each change once and in order, whatever is duplicated, reordered or lost around it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60, size: 'max' }), fc.nat(3), async (actions, after) => {
        const world = createWorld()
        for (let n = 0; n < 3; n += 1) world.act('commit')
        const stream = createChangeStream(world.source, { filter: { deploymentIds: ['d-1'] }, after })
        const consumer = createConsumer(stream)
        // Only a stream that has begun outlives an outage.
        await consumer.take()
        for (const one of actions) {
          if (one === 'take') await consumer.take()
          else if (one === 'bookmark') stream.bookmark()
          else world.act(one)
          if (one === 'breathe') await turn()
        }
        world.heal()
        await consumer.drain(world)
        const expected = world.log.filter(({ revision, deploymentId }) => revision > after && deploymentId === 'd-1')
        const changes = consumer.events.flatMap(({ change: own }) => own ?? [])
        expect(changes.map(({ revision }) => revision)).toEqual(expected.map(({ revision }) => revision))
        expect(consumer.events.map(({ reset }) => reset).filter((reset) => reset !== null)).toEqual([])
        const cursors = consumer.events.map(({ cursor }) => cursor)
        expect(cursors).toEqual([...new Set(cursors)].sort((a, b) => a - b))
        stream.close()
        expect(world.hub.size).toBe(0)
      }),
      { numRuns: 400 },
    )
  })
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A log in memory, and a hub, a backlog and ranges that fail when the test says so. */
function createWorld() {
  const entries: Change[] = []
  const epochs: { base: number; ended: number | null }[] = [{ base: 0, ended: null }]
  const faults = new Set<string>()
  const resume: (() => void)[] = []
  const last = (): number => entries.at(-1)?.revision ?? 0
  const headNow = () => {
    const epochBase = epochs.at(-1)?.base ?? 0
    return { revision: Math.max(last(), epochBase), epochBase, tail: 0, tailAt: 0, at: 0, writes: 0 }
  }
  const after = (revision: number) => entries.filter((entry) => entry.revision > revision)
  const hub = createHub(
    { head: async () => headNow(), read: async (revision, limit) => after(revision).slice(0, limit) },
    headNow(),
  )
  let published: readonly Change[] = []
  const faulty: Hub = Object.create(hub, {
    subscribe: {
      value: (subscriber: Parameters<Hub['subscribe']>[0]) =>
        hub.subscribe({
          ...subscriber,
          changed(changes) {
            subscriber.changed(changes)
            if (faults.delete('publish twice')) subscriber.changed(changes)
            if (faults.delete('publish an older commit')) subscriber.changed(published)
            published = changes
          },
        }),
    },
  })
  async function suffer(): Promise<void> {
    if (faults.delete('delay a read')) for (let n = 0; n < 3; n += 1) await turn()
    if (faults.delete('lose a read')) throw Object.assign(new Error('the connection is lost'), { code: 'ECONNRESET' })
  }
  const commit = (deploymentId: string, isElsewhere: boolean): void => {
    const since = headNow().revision
    entries.push(change(since + 1, deploymentId))
    if (!isElsewhere) hub.publish(since, entries.slice(-1))
  }
  return {
    log: entries,
    hub,
    source: {
      hub: faulty,
      capacity: 1_000,
      whenReadable: (callback: () => void) => void resume.push(callback),
      async backlog(revision: number) {
        await suffer()
        if (faults.delete('an old page')) return { changes: after(revision - 2).slice(0, 1), upTo: revision }
        // A small page, with what another subscriber had read before.
        return { changes: after(revision - 1).slice(0, 3), upTo: after(revision)[2]?.revision ?? headNow().revision }
      },
      async range() {
        await suffer()
        await hub.reach(headNow().revision)
        return { head: headNow().revision, tail: 0, epochs }
      },
    },
    act(what: string) {
      if (what === 'commit' || what === 'commit elsewhere') commit('d-1', what === 'commit elsewhere')
      else if (what === 'commit another') commit('d-2', false)
      else if (what === 'begin an epoch') {
        const [present] = epochs.slice(-1)
        if (present) present.ended = headNow().revision
        epochs.push({ base: headNow().revision + 10, ended: null })
      } else if (what !== 'breathe') faults.add(what)
      if (!faults.has('lose a read')) for (const callback of resume.splice(0)) callback()
    },
    heal() {
      faults.clear()
      for (const callback of resume.splice(0)) callback()
    },
  }
}

function createConsumer(stream: ReturnType<typeof createChangeStream>) {
  const events: FeedEvent[] = []
  let pending: Promise<void> | null = null

  async function take(): Promise<void> {
    const event = await stream.next()
    if (typeof event !== 'string') events.push(event)
  }

  return {
    events,
    /** Does not wait for longer than some turns: what is asked for may be delayed. */
    async take() {
      pending ??= take().finally(() => {
        pending = null
      })
      await Promise.race([pending, turn()])
    },
    async drain({ hub, log: entries, heal }: ReturnType<typeof createWorld>) {
      await hub.reach(entries.at(-1)?.revision ?? 0)
      for (let idle = 0; idle < 3; ) {
        const before = events.length
        await (pending ?? take())
        heal()
        await turn()
        idle = events.length > before ? 0 : idle + 1
      }
    },
  }
}
