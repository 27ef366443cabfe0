/** What is logged of a broker that comes and goes. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBrokerOutages } from '../../src/api/mqtt/broker-outages.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function open() {
  const lines: string[] = []
  const note = (_: object, text?: string): void => void lines.push(text ?? '')
  const outages = createBrokerOutages({ info: note, warn: note } as never, { first: 1_000, longest: 8_000 }, 5_000)
  /** One connection, which lasts so many milliseconds. */
  const connect = (time: number): number => {
    outages.connected('in-0')
    vi.advanceTimersByTime(time)
    const pause = outages.closed('in-0')
    outages.lost('in-0', 'lost', {})
    return pause
  }
  return { lines, outages, connect }
}

it('logs the begin and the end of each outage, and attempts not', () => {
  const { lines, outages, connect } = open()
  connect(60_000)
  for (let n = 0; n < 10; n += 1) outages.lost('in-0', 'refused', {})
  connect(60_000)
  outages.lost('in-1', 'another', {})
  expect(lines).toEqual(['connected to the MQTT broker', 'lost', 'connected to the MQTT broker', 'lost', 'another'])
})

it('logs few of the connections that do not last, and the first that does; the pauses grow meanwhile', () => {
  const { lines, outages, connect } = open()
  const pauses = Array.from({ length: 20 }, () => connect(100))
  expect(lines).toHaveLength(6)
  expect(pauses[0]).toBeLessThanOrEqual(2_000)
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(4_000)
  outages.connected('in-0')
  vi.advanceTimersByTime(4_900)
  expect(lines).toHaveLength(6)
  vi.advanceTimersByTime(200)
  expect(lines.slice(6)).toEqual(['connected to the MQTT broker'])
  expect(outages.closed('in-0')).toBeLessThanOrEqual(1_000)
})
