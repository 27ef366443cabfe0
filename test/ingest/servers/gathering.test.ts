/** How long a batch waits for the commands of other servers. */
import { describe, expect, it } from 'vitest'
import { createGathering } from '../../../src/ingest/servers/gathering.ts'

/** A server that answered a batch 2 ms ago, which took 10 ms. */
function start({ isFollowed = true, isDraining = false, batchTime = 10 } = {}) {
  const handedAt = isFollowed ? performance.now() + 60_000 : Number.NEGATIVE_INFINITY
  return createGathering({ handedAt, isDraining, answered: { at: 100, batchTime } }, undefined, () => 102)
}

describe('a batch of a server that writes for others', () => {
  it('waits for half of the callers of the last batch, as long as that batch took', () => {
    const gathering = start()
    expect(gathering.timeLeft(64, 0)).toBe(0)
    gathering.taken()
    expect(gathering.timeLeft(20, 0)).toBe(8)
    expect(gathering.timeLeft(30, 0)).toBe(8)
    expect(gathering.timeLeft(31, 0)).toBe(0)
  })

  it('counts the callers in flight', () => {
    const gathering = start()
    expect(gathering.timeLeft(24, 40)).toBe(8)
    expect(gathering.timeLeft(32, 32)).toBe(0)
  })

  it('waits at most 15 ms after the last answer', () => {
    const gathering = start({ batchTime: 80 })
    gathering.timeLeft(64, 0)
    expect(gathering.timeLeft(20, 0)).toBe(13)
  })

  it('does not wait for callers that have left', () => {
    const gathering = start()
    gathering.timeLeft(64, 0)
    for (let batch = 0; batch < 10; batch += 1) gathering.taken()
    expect(gathering.timeLeft(20, 0)).toBe(0)
  })

  it.each([
    ['when no other server hands batches over', { isFollowed: false }, 20],
    ['when the server stops', { isDraining: true }, 20],
    ['when the last batch was answered long ago', { batchTime: 1 }, 20],
    ['when nothing waits', {}, 0],
  ])('does not wait %s', (_, options, waiting) => {
    const gathering = start(options)
    gathering.timeLeft(64, 0)
    expect(gathering.timeLeft(waiting, 0)).toBe(0)
  })

  it('does not wait for a few callers', () => {
    const gathering = start()
    expect(gathering.timeLeft(7, 8)).toBe(0)
    expect(gathering.timeLeft(7, 9)).toBe(8)
  })
})
