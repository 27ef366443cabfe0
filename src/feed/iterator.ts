/**
 * An async iterator with one consumer, written by hand: a generator would hold its `finally` back while it waits,
 * and so leak its subscription when the client goes away.
 */
export interface WakingIterator<T> extends AsyncIterableIterator<T> {
  /** Asks `pull` again, if somebody is waiting. */
  wake(): void
  /** Its consumer waits, and there was nothing for it. */
  isWaiting(): boolean
  return(): Promise<IteratorResult<T>>
}

export interface IteratorSource<T> {
  /** The next value, 'wait' until woken, or 'end'. Never called while an earlier call is under way. */
  pull(closed: () => boolean): Promise<T | 'wait' | 'end'>
  /** Called when it begins to wait. */
  waits?: (() => void) | undefined
  /** Called once. */
  close(): void
}

export function createIterator<T extends object>(source: IteratorSource<T>): WakingIterator<T> {
  let isClosed = false
  let wakeUp: (() => void) | null = null
  let wasWoken = false
  let turn: Promise<unknown> = Promise.resolve()

  function finish(): void {
    if (isClosed) return
    isClosed = true
    source.close()
    wake()
  }

  function wake(): void {
    wasWoken = true
    wakeUp?.()
  }

  async function take(): Promise<IteratorResult<T>> {
    try {
      while (!isClosed) {
        wasWoken = false
        const value = await source.pull(() => isClosed)
        if (isClosed || value === 'end') break
        if (value !== 'wait') return { done: false, value }
        if (!wasWoken) {
          const woken = new Promise<void>((resolve) => (wakeUp = resolve))
          source.waits?.()
          await woken
        }
        wakeUp = null
      }
    } catch (error) {
      finish()
      throw error
    }
    finish()
    return { done: true, value: undefined }
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      const result = turn.then(take)
      turn = result.catch(() => undefined)
      return result
    },
    return() {
      finish()
      return Promise.resolve({ done: true, value: undefined })
    },
    throw(error) {
      finish()
      return Promise.reject(error)
    },
    wake,
    isWaiting: () => wakeUp !== null && !wasWoken && !isClosed,
  }
}
