/**
 * Runs long synchronous work in slices: a generator yields where it may pause. A slice takes some milliseconds and one turn of the event loop
 * (slices.ts). A worker thread was rejected: the copy of its result would block this thread for as long.
 */
import { type Slices, sharedSlices } from './slices.ts'

export type Paced<T> = Generator<undefined, T, undefined>

/** Milliseconds of one slice. */
const sliceTime = 10

/** All bodies have the share of one caller, so operations wait for at most one slice, regardless of the number of bodies. */
const shareOfBodies = 'paced work'

/** `share`: the caller that the slices are charged to. `signal`: ends the work before its next slice. */
export async function paced<T>(
  work: Paced<T>,
  slices: Slices = sharedSlices,
  share: string = shareOfBodies,
  signal?: AbortSignal,
): Promise<T> {
  for (;;) {
    signal?.throwIfAborted()
    const until = performance.now() + sliceTime
    do {
      const { done, value } = work.next()
      if (done) return value
    } while (performance.now() < until)
    await slices.later(share)
  }
}

/** Runs work that may be paced as a part of other paced work. */
export function* stepsOf<T>(work: T | Paced<T>): Paced<T> {
  return isPaced(work) ? yield* work : work
}

function isPaced<T>(work: T | Paced<T>): work is Paced<T> {
  return work instanceof Iterator
}

/** Runs without pauses, for small inputs. */
export function atOnce<T>(work: Paced<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Maps items and may pause after each. */
export function* eachPaced<Item, Result>(
  items: readonly Item[],
  make: (item: Item, index: number) => Result,
): Paced<Result[]> {
  const made: Result[] = []
  for (const [index, item] of items.entries()) {
    made.push(make(item, index))
    yield
  }
  return made
}
