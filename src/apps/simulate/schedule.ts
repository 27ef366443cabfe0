/** Merges many endless plans by due time. */
export interface Planned {
  readonly at: number
}

export interface Schedule<T> {
  /** The time of the next one. */
  readonly next: number
  /** Everything due at `time` or before, in order. The order within a plan is kept. */
  until(time: number): readonly T[]
}

interface Row<T> {
  readonly value: T
  readonly plan: Iterator<T>
}

export function createSchedule<T extends Planned>(plans: readonly Iterator<T>[]): Schedule<T> {
  const rows = plans.flatMap((plan) => rowOf(plan)).toSorted((a, b) => a.value.at - b.value.at)

  /** After others that are due at the same time. */
  function insert(row: Row<T>): void {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = rows[middle]
      if (other && other.value.at <= row.value.at) low = middle + 1
      else high = middle
    }
    rows.splice(low, 0, row)
  }

  return {
    get next() {
      return rows[0]?.value.at ?? Number.POSITIVE_INFINITY
    },
    until(time) {
      const due: T[] = []
      for (let first = rows[0]; first && first.value.at <= time; first = rows[0]) {
        rows.shift()
        due.push(first.value)
        for (const row of rowOf(first.plan)) insert(row)
      }
      return due
    },
  }
}

function rowOf<T>(plan: Iterator<T>): Row<T>[] {
  const { value, done } = plan.next()
  return done ? [] : [{ value, plan }]
}
