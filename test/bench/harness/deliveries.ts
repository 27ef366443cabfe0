/** Reports one after another: the next leaves when all subscribers that watch the device have received the last one. */
import type { Lab } from './bench.ts'
import { openConnection } from './clients/http-connection.ts'
import { WrongAnswer } from './closed-loop.ts'
import type { Fleet } from './fleet.ts'
import type { Program } from './process.ts'
import type { Measure } from './rounds.ts'

interface Deliveries {
  /** Counts one. */
  hear(): void
  heard(): number
  /** Resolves when so many have come. One caller at a time. */
  until(count: number): Promise<void>
}

/** `patience`: milliseconds. */
export function countDeliveries(patience = 30_000): Deliveries {
  let heard = 0
  let expected = Number.POSITIVE_INFINITY
  let reached = (): void => undefined
  return {
    hear() {
      heard += 1
      if (heard >= expected) reached()
    },
    heard: () => heard,
    until: (count) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new WrongAnswer(`${heard} of ${count} deliveries came`)), patience)
        expected = count
        reached = () => {
          clearTimeout(timer)
          resolve()
        }
        if (heard >= count) reached()
      }),
  }
}

interface InTurn {
  readonly program: Program
  readonly fleet: Fleet
  /** Devices that report in turn. */
  readonly devices: number
  readonly deliveries: Deliveries
  /** Subscribers of each device. */
  readonly watchers: number
  readonly wrong: string[]
}

/** `of`: what the rate and the processor time are of. */
export function reportInTurn(lab: Lab, of: 'deliveries' | 'reports', subject: InTurn): Measure {
  const { program, fleet, devices, deliveries, watchers, wrong } = subject
  let device = 0
  return async (isWarmUp) => {
    const connection = await openConnection(program.port)
    const end = performance.now() + (isWarmUp ? 500 : lab.seconds * 1000)
    const [began, used, client, before] = [performance.now(), program.cpu(), process.cpuUsage(), deliveries.heard()]
    let reports = 0
    for (; performance.now() < end; reports += 1) {
      const all = deliveries.until(deliveries.heard() + watchers)
      const problem = fleet.check(0, await connection.send(fleet.report(device)))
      if (problem) wrong.push(problem)
      await all
      device = (device + 1) % devices
    }
    const elapsed = (performance.now() - began) / 1000
    const { user, system } = process.cpuUsage(client)
    const operations = of === 'reports' ? reports : deliveries.heard() - before
    connection.close()
    return {
      rate: operations / elapsed,
      serverCpu: ((program.cpu() - used) / operations) * 1e6,
      databaseCpu: null,
      clientCpu: (user + system) / 1e6 / elapsed,
    }
  }
}
