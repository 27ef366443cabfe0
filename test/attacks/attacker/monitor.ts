/** Loaded into the attacked server before it starts (`node --import`): it reports what only the process itself can see. */

export interface Vitals {
  readonly kind: 'vitals'
  /** Bytes. */
  readonly rss: number
  readonly heap: number
  /** Outside the heap: buffers, and the embedded database. */
  readonly external: number
  readonly rejections: number
  /** Milliseconds in which the main thread has run. */
  readonly cpu: number
  /** Milliseconds of all threads: the embedded database has one of its own. */
  readonly processCpu: number
}

/** The event loop ran nothing else for so long. */
export interface Stall {
  readonly kind: 'stall'
  /** Milliseconds since 1970. */
  readonly end: number
  /** Milliseconds, as others saw it. */
  readonly time: number
  /** Milliseconds in which the main thread ran: other processes cannot make this longer. */
  readonly cpu: number
}

export type Report = Vitals | Stall

/** Milliseconds between two looks, and from which on a stall is worth a message. */
const interval = 10
const threshold = 20

const collectGarbage = (globalThis as { gc?: (options: object) => void }).gc
/** A last resort also gives pages back that are nearly empty. */
const thoroughly = { type: 'major', execution: 'sync', flavor: 'last-resort' }
/** Fast enough to look several times while one request is answered. */
const once = { type: 'major', execution: 'sync', flavor: 'regular' }

let rejections = 0
process.on('unhandledRejection', () => {
  rejections += 1
})

const tell = (report: Report): void => void process.send?.(report)

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

let last = { at: performance.now(), cpu: cpuTime() }
setInterval(() => {
  const now = { at: performance.now(), cpu: cpuTime() }
  const time = now.at - last.at - interval
  if (time > threshold) tell({ kind: 'stall', end: Date.now(), time, cpu: Math.min(now.cpu - last.cpu, time) })
  last = now
}, interval).unref()

process.on('message', (question) => {
  if (question === 'collect' || question === 'live') {
    collectGarbage?.(question === 'collect' ? thoroughly : once)
    // It was asked for, so it is no stall of the server's.
    last = { at: performance.now(), cpu: cpuTime() }
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const processCpu = (user + system) / 1_000
  tell({ kind: 'vitals', rss, heap: heapUsed, external, rejections, cpu: cpuTime(), processCpu })
})
// The channel alone keeps no server alive.
process.channel?.unref()
