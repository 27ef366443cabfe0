import { describe, expect, it } from 'vitest'
import { createCallerSemaphore } from '../../src/platform/limits/caller-semaphore.ts'

const patient = (): AbortSignal => new AbortController().signal

describe('lanes', () => {
  it('admit a limited number of requests of one caller, and the others in order as those end', async () => {
    const lanes = createCallerSemaphore(2)
    const entered: number[] = []
    const enter = (n: number) =>
      lanes.enter('ann', patient()).then((leave) => {
        entered.push(n)
        return leave
      })
    const [first, second, third, fourth] = [enter(1), enter(2), enter(3), enter(4)]
    await Promise.all([first, second])
    expect(entered).toEqual([1, 2])
    const leave = await first
    leave()
    leave()
    await third
    await enterAndLeave(lanes, 'ben')
    expect(entered).toEqual([1, 2, 3])
    for (const one of [second, third]) (await one)()
    ;(await fourth)()
    expect(entered).toEqual([1, 2, 3, 4])
  })

  it('give a free place to a waiting request, not to a new one', async () => {
    const lanes = createCallerSemaphore(1)
    const order: string[] = []
    const leave = await lanes.enter('ann', patient())
    const waiting = lanes.enter('ann', patient()).then((leaveNext) => {
      order.push('waited')
      leaveNext()
    })
    leave()
    const late = lanes.enter('ann', patient()).then((leaveNext) => {
      order.push('came by')
      leaveNext()
    })
    await Promise.all([waiting, late])
    expect(order).toEqual(['waited', 'came by'])
  })

  it('forget who stops waiting', async () => {
    const lanes = createCallerSemaphore(1)
    const controller = new AbortController()
    const leave = await lanes.enter('ann', patient())
    const waiting = lanes.enter('ann', controller.signal)
    const reason = new Error('too long')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(lanes.enter('ann', controller.signal)).rejects.toBe(reason)
    leave()
    await enterAndLeave(lanes, 'ann')
  })
})

async function enterAndLeave(lanes: ReturnType<typeof createCallerSemaphore>, whose: string): Promise<void> {
  const leave = await lanes.enter(whose, patient())
  leave()
}
