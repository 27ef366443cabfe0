/** Deployments by trait, and how many of them no cause explains yet. Each trait is counted once (diagnosis.ts). */
import type { Observation, Problem, Row, Steps } from './observed.ts'

/** A trait is a number: its place in `traits`, `names` and `sizes`. */
export interface Groups<Trait> {
  readonly traits: readonly Trait[]
  readonly names: readonly string[]
  readonly sizes: readonly number[]
  /** The traits of each row, in the order of the rows. */
  readonly of: readonly (readonly number[])[]
}

export function* groupsOf<Trait>(
  rows: readonly Observation<Trait>[],
  nameOf: (trait: Trait) => string,
): Steps<Groups<Trait>> {
  const places = new Map<string, number>()
  const traits: Trait[] = []
  const sizes: number[] = []
  const of: number[][] = []
  for (const row of rows) {
    const { n } = row
    of.push(
      row.traits.map((trait) => {
        const name = nameOf(trait)
        const known = places.get(name)
        if (known !== undefined) {
          sizes[known] = (sizes[known] ?? 0) + n
          return known
        }
        places.set(name, sizes.push(n) - 1)
        return traits.push(trait) - 1
      }),
    )
    yield
  }
  return { traits, names: [...places.keys()], sizes, of }
}

/** All deployments, and those with the problem. */
export interface Marked {
  readonly all: number
  readonly marked: number
}

/** The deployments that no cause explains yet: in all, and for each trait. */
export interface Unexplained {
  readonly left: Marked
  readonly drawn: Float64Array
  readonly marked: Float64Array
  /** Removes a row, which a cause explains. A second time does nothing. */
  setAside(index: number, row: Row): void
}

export function* countUnexplained<Trait>(
  rows: readonly Row[],
  groups: Groups<Trait>,
  problem: Problem,
): Steps<Unexplained> {
  const drawn = Float64Array.from(groups.sizes)
  const marked = new Float64Array(groups.sizes.length)
  const left = tally(rows, problem)
  const apart = new Set<Row>()
  const add = (counts: Float64Array, index: number, n: number): void => {
    for (const place of groups.of[index] ?? []) counts[place] = (counts[place] ?? 0) + n
  }
  for (const [index, row] of rows.entries()) {
    if (row.problem !== problem) continue
    add(marked, index, row.n)
    yield
  }
  return {
    left,
    drawn,
    marked,
    setAside(index, row) {
      if (apart.has(row)) return
      apart.add(row)
      left.all -= row.n
      add(drawn, index, -row.n)
      if (row.problem !== problem) return
      left.marked -= row.n
      add(marked, index, -row.n)
    },
  }
}

export function tally(rows: readonly Row[], problem: Problem): { all: number; marked: number } {
  let [all, marked] = [0, 0]
  for (const row of rows) {
    all += row.n
    if (row.problem === problem) marked += row.n
  }
  return { all, marked }
}
