/**
 * Latency: requests leave by the clock, whether or not the earlier ones were answered, and time counts from when a request
 * should have left. A server that stops for a second is seen to have kept all those waiting, and not just one.
 */

import { type Answer, openConnections } from './clients/http-connection.ts'
import { WrongAnswer } from './closed-loop.ts'

export interface Schedule {
  readonly port: number
  readonly connections: number
  /** Requests a second. */
  readonly rate: number
  readonly seconds: number
  /** `due`: when it should leave, on performance.now()'s clock. */
  next(number: number, due: number): Buffer
  check(answer: Answer): string | null
}

export async function openLoop({ port, connections, rate, seconds, next, check }: Schedule): Promise<void> {
  const open = await openConnections(port, connections)
  const free = [...open]
  const waiting: Buffer[] = []
  const total = Math.floor(rate * seconds)
  const began = performance.now()
  let sent = 0
  let answered = 0
  let wrong: string | null = null

  await new Promise<void>((resolve, reject) => {
    const dispatch = (): void => {
      while (free.length > 0 && waiting.length > 0) {
        const connection = free.pop()
        const request = waiting.shift()
        if (!connection || !request) return
        connection.send(request).then((answer) => {
          wrong ??= check(answer)
          answered += 1
          free.push(connection)
          if (answered === total) resolve()
          else dispatch()
        }, reject)
      }
    }
    const tick = (): void => {
      // The first leaves at once.
      const due = Math.min(total, Math.floor(((performance.now() - began) / 1000) * rate) + 1)
      for (; sent < due; sent += 1) waiting.push(next(sent, began + (sent / rate) * 1000))
      dispatch()
      if (sent < total) setTimeout(tick, 1)
    }
    tick()
  }).finally(() => {
    for (const connection of open) connection.close()
  })
  if (wrong) throw new WrongAnswer(wrong)
}
