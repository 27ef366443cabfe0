/**
 * Work that takes longer than others may wait. It is a generator that yields where it may pause: in slices of some milliseconds, one slice
 * of one work in each turn of the event loop. A thread of its own would have to hand over what it made by a copy, which is as long a stall.
 */
export type Paced<T> = Generator<undefined, T, undefined>

/** Milliseconds. */
const slice = 10

const waiting: (() => void)[] = []

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(wake)
  })
}

/** However many works there are, one goes on in a turn: others' requests come between. */
function wake(): void {
  const next = waiting.shift()
  next?.()
  if (waiting.length > 0) setImmediate(wake)
}

export async function paced<T>(work: Paced<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + slice
    do {
      const { done, value } = work.next()
      if (done) return value
    } while (performance.now() < until)
    await nextTurn()
  }
}

/** For what is small. */
export function atOnce<T>(work: Paced<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** A pause may be between any two of them. */
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
