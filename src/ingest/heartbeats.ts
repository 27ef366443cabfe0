/**
 * Signs of life that are no reports, such as a device's question whether there is anything new. Those of many devices are one write, and
 * those of one device are not written more often than needed. None waits so long that its device would seem silent.
 */
import type { Millis } from '../domain/values.ts'
import { hearDevices } from './commands/report.ts'
import type { Writer } from './writer.ts'

export interface HeartbeatsOptions {
  readonly writer: Pick<Writer, 'submit'>
  /** Seconds of silence after which any device is taken for offline; null: none is. */
  readonly offlineAfter: number | null
  readonly clock: () => number
  /** Milliseconds that signs of life wait for others. */
  readonly delay?: number
}

/** Milliseconds. A device that promised to be heard is noted four times in that time. */
const oftenEnough = 60_000

export interface Heartbeats {
  note(device: string, known: { readonly lastHeardAt: Millis | null; readonly expectedInterval: number | null }): void
}

export function createHeartbeats({ writer, offlineAfter, clock, delay = 1_000 }: HeartbeatsOptions): Heartbeats {
  const present = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  function tell(): void {
    clearTimeout(timer)
    const devices = [...present]
    present.clear()
    // A device that is still there sends another sign of life.
    writer.submit(hearDevices(devices)).catch(() => undefined)
  }

  return {
    note(device, { lastHeardAt, expectedInterval }) {
      const promised = expectedInterval ?? offlineAfter
      const enough = promised === null ? oftenEnough : Math.min(oftenEnough, promised * 250)
      if (lastHeardAt !== null && clock() - lastHeardAt < enough) return
      if (present.size === 0) timer = setTimeout(tell, delay).unref()
      present.add(device)
      const left = promised === null || lastHeardAt === null ? null : lastHeardAt + promised * 1_000 - clock()
      if (left !== null && left <= delay) tell()
    },
  }
}
