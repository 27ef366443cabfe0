import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { createHeldTexts, heldTexts } from '../../../src/store/connection/held-texts.ts'
import { postgresStores } from '../../support/databases/stores.ts'

const mebi = 1 << 20

describe('what readers hold at once', () => {
  it('is bounded for those that hold more than a part, until others release', () => {
    const texts = createHeldTexts(64 * mebi)
    const [one, two, part] = [texts.hold(), texts.hold(), texts.hold()]
    expect([one.add(30 * mebi), two.add(30 * mebi), part.add(6 * mebi)]).toEqual([true, true, true])
    expect([part.add(1), two.add(1)]).toEqual([false, false])
    one.release()
    one.release()
    expect(two.add(27 * mebi)).toBe(true)
    expect(two.add(mebi)).toBe(false)
  })

  it('is nothing of a reader that has ended, whatever it still reads', () => {
    const texts = createHeldTexts(64 * mebi)
    const [ended, other] = [texts.hold(), texts.hold()]
    ended.release()
    expect([ended.add(100 * mebi), other.add(64 * mebi)]).toEqual([true, true])
  })
})

describe.each(postgresStores)('a statement on $name', (store) => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  it('is refused if it returns more than a part while others hold too much, and not afterwards', async () => {
    const empty = await store.create()
    closing.push(() => empty.drop())
    const database = await empty.open()
    closing.push(() => database.close())
    const read = (count: number) =>
      database.session.run("select repeat('x', 1024 * 1024) as text from generate_series(1, $1::int)", [count])
    const others = heldTexts.hold()
    onTestFinished(() => others.release())
    others.add(Number.MAX_SAFE_INTEGER / 2)
    expect(await read(5)).toHaveLength(5)
    const facts = { limit: 'bufferedBytes', retryAfterSeconds: 2 }
    await expect(read(8)).rejects.toMatchObject({ code: 'UNAVAILABLE', facts })
    others.release()
    expect(await read(8)).toHaveLength(8)
    expect(await read(8)).toHaveLength(8)
  })
})
