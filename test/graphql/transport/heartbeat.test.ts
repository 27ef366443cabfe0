import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHeartbeat } from '../../../src/api/graphql/transport/heartbeat.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const interval = 1_000

function createSocket() {
  return Object.assign(new EventEmitter(), { ping: vi.fn(), terminate: vi.fn() })
}

it('pings an idle client at every second check, and an active one never', () => {
  const heartbeat = createHeartbeat(interval)
  const [idle, active] = [createSocket(), createSocket()]
  const heard = heartbeat.watch(idle as never)
  idle.ping.mockImplementation(heard)
  const hearActive = heartbeat.watch(active as never)
  for (let tick = 0; tick < 80; tick += 1) {
    hearActive()
    vi.advanceTimersByTime(interval / 8)
  }
  expect(idle.ping.mock.calls.length).toBe(5)
  expect(active.ping).not.toHaveBeenCalled()
  expect([idle, active].map(({ terminate }) => terminate.mock.calls.length)).toEqual([0, 0])
  heartbeat.close()
})

it('terminates a client that answers no ping, within three intervals', () => {
  const heartbeat = createHeartbeat(interval)
  const socket = createSocket()
  heartbeat.watch(socket as never)
  vi.advanceTimersByTime(3 * interval)
  expect([socket.ping.mock.calls.length, socket.terminate.mock.calls.length]).toEqual([1, 1])
  heartbeat.close()
})

it('pings thousands of idle clients at different times, and no closed one', () => {
  const heartbeat = createHeartbeat(interval)
  const sockets = Array.from({ length: 1_000 }, createSocket)
  for (const socket of sockets) heartbeat.watch(socket as never)
  const pinged = (): number => sockets.filter(({ ping }) => ping.mock.calls.length > 0).length
  vi.advanceTimersByTime(interval + interval / 10)
  expect(pinged()).toBe(100)
  sockets.slice(500).forEach((socket) => void socket.emit('close'))
  vi.advanceTimersByTime(interval)
  expect(pinged()).toBe(550)
  heartbeat.close()
  expect(vi.getTimerCount()).toBe(0)
})
