import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Command } from '../../../src/ingest/command.ts'
import { createHeartbeats, type Heartbeats } from '../../../src/ingest/heartbeats.ts'

const minute = 60_000
let written: (readonly string[] | undefined)[] = []
let fails = false
const attend = (offlineAfter: number | null = null): Heartbeats =>
  createHeartbeats({
    writer: {
      submit: async <Result>({ needs }: Command<Result>) => {
        written.push(needs.devices)
        if (fails) throw new Error('the database is away')
        return null as Result
      },
    },
    offlineAfter,
    clock: Date.now,
  })
const ago = (time: number | null, expectedInterval: number | null = null) => ({
  lastHeardAt: time === null ? null : Date.now() - time,
  expectedInterval,
})

beforeEach(() => {
  vi.useFakeTimers()
  written = []
  fails = false
})
afterEach(() => vi.useRealTimers())

it('are written together, each device once', () => {
  const heartbeats = attend()
  for (const device of ['a', 'b', 'a']) heartbeats.note(device, ago(null))
  expect(written).toEqual([])
  vi.advanceTimersByTime(1_000)
  expect(written).toEqual([['a', 'b']])
  vi.advanceTimersByTime(minute)
  heartbeats.note('a', ago(minute))
  vi.advanceTimersByTime(1_000)
  expect(written).toEqual([['a', 'b'], ['a']])
})

it.each([
  ['a minute', null, null, minute],
  ['a quarter of what the device promised', 60, null, 15_000],
  ['a minute, whatever it promised', 3_600, null, minute],
  ['a quarter of what all devices have', null, 20, 5_000],
  ['a quarter of what the device promised, whatever all have', 40, 20, 10_000],
])('are written again after %s', (_, promised, offlineAfter, time) => {
  const heartbeats = attend(offlineAfter)
  heartbeats.note('early', ago(time - 1, promised))
  heartbeats.note('due', ago(time, promised))
  vi.advanceTimersByTime(1_000)
  expect(written).toEqual([['due']])
})

it('do not wait for others until a promise is broken', () => {
  const heartbeats = attend()
  heartbeats.note('early', ago(null))
  heartbeats.note('in time', ago(8_999, 10))
  expect(written).toEqual([])
  heartbeats.note('just in time', ago(9_000, 10))
  expect(written).toEqual([['early', 'in time', 'just in time']])
  heartbeats.note('late', ago(11_000, 10))
  expect(written.slice(1)).toEqual([['late']])
  vi.advanceTimersByTime(minute)
  expect(written).toHaveLength(2)
})

it('that cannot be written are forgotten: who is there comes again', async () => {
  fails = true
  const heartbeats = attend()
  heartbeats.note('a', ago(null))
  await vi.advanceTimersByTimeAsync(1_000)
  heartbeats.note('b', ago(null))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(written).toEqual([['a'], ['b']])
})
