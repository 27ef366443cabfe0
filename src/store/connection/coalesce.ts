/** Runs work once for all callers that ask for it at the same time. */

export interface Coalesced<T> {
  /** Waits for a run that begins after this call, because a run that began earlier may have read too early. */
  (): Promise<T>
  /** The present run. Null: none. */
  running(): Promise<T> | null
  /** Whether no run is present or due. */
  isIdle(): boolean
}

export function coalesce<T>(work: () => Promise<T>): Coalesced<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null

  function begin(): Promise<T> {
    next = null
    const own = work().finally(() => {
      if (running === own) running = null
    })
    running = own
    return own
  }

  function run(): Promise<T> {
    // Between two runs there is none, and the next one is due.
    if (next) return next
    if (!running) return begin()
    next = running.then(begin, begin)
    return next
  }

  return Object.assign(run, { running: () => running, isIdle: () => running === null && next === null })
}

/** One run for each key at a time. A caller that arrives during a run gets its result. */
export function coalesceByKey<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (key, work) => {
    const known = running.get(key)
    if (known) return known
    const own = work()
    running.set(key, own)
    const forget = (): void => void running.delete(key)
    own.then(forget, forget)
    return own
  }
}
