/**
 * Signs of life that are not reports, for example a device's poll for a new manifest. Those of many devices are written together, and those
 * of one device no more often than needed. None waits so long that its device would seem silent.
 */
import type { Millis } from '../domain/values.ts'
import { partSize } from './command-parts.ts'
import { hearDevices } from './commands/connectivity.ts'
import type { Writer } from './writer.ts'

interface HeartbeatsOptions {
  readonly writer: Pick<Writer, 'submit'>
  /** Seconds of silence after which any device counts as OFFLINE. Null: silence does not count. */
  readonly offlineAfter: number | null
  readonly clock: () => number
}

/** Milliseconds that signs of life wait for others. */
const delay = 1_000

/** Milliseconds between writes for one device. A device that promised a heartbeat is noted four times in its interval. */
const oftenEnough = 60_000

export interface Heartbeats {
  note(device: string, known: { readonly lastHeardAt: Millis | null; readonly expectedInterval: number | null }): void
}

export function createHeartbeats({ writer, offlineAfter, clock }: HeartbeatsOptions): Heartbeats {
  const present = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    const devices = [...present]
    present.clear()
    // A lost sign of life needs no retry: a live device sends another one.
    for (let first = 0; first < devices.length; first += partSize)
      writer.submit(hearDevices(devices.slice(first, first + partSize))).catch(() => undefined)
  }

  return {
    note(device, { lastHeardAt, expectedInterval }) {
      const promised = expectedInterval ?? offlineAfter
      const enough = promised === null ? oftenEnough : Math.min(oftenEnough, promised * 250)
      if (lastHeardAt !== null && clock() - lastHeardAt < enough) return
      if (present.size === 0) timer = setTimeout(flush, delay).unref()
      present.add(device)
      const left = promised === null || lastHeardAt === null ? null : lastHeardAt + promised * 1_000 - clock()
      if (left !== null && left <= delay) flush()
    },
  }
}
