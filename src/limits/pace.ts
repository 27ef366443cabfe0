/**
 * Work in slices: a generator that yields where it may pause. A slice takes some milliseconds and a turn of the event loop (slices.ts). A thread
 * would have to copy its result to this one, which stalls for as long.
 */
import { type Slices, sharedSlices } from './slices.ts'

export type Paced<T> = Generator<undefined, T, undefined>

/** Milliseconds of a slice. */
const sliceTime = 10

/** All paced work together has the share of one caller: operations wait for one slice at most, however many bodies are parsed. */
const share = 'paced work'

export async function paced<T>(work: Paced<T>, slices: Slices = sharedSlices): Promise<T> {
  for (;;) {
    const until = performance.now() + sliceTime
    do {
      const { done, value } = work.next()
      if (done) return value
    } while (performance.now() < until)
    await slices.later(share)
  }
}

/** Without pauses, for small inputs. */
export function atOnce<T>(work: Paced<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** May pause between any two items. */
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
