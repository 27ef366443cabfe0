/** Commands of many items, in parts: divided-write.ts writes them. */
import type { Command, WritePart } from './command.ts'

/** Items of one part. One part takes some megabytes, and each part costs a few statements. */
export const partSize = 500

/** Its transaction loads, decides and saves one part after the other, so the rows of only one part are in memory. A refused part undoes all. */
export function inParts<Result>(divided: (write: WritePart) => Promise<Result>): Command<Result> {
  return {
    needs: {},
    decide() {
      throw new Error('a divided command is decided in parts')
    },
    divided,
  }
}

/** Writes items part by part, in order. `first`: the index of the first item of a part. */
export async function eachPart<Item, Result>(
  items: readonly Item[],
  write: (part: readonly Item[], first: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let first = 0; first < items.length; first += partSize)
    results.push(await write(items.slice(first, first + partSize), first))
  return results
}

/** In order, as many groups in a part as fit. A group is not divided. */
export function partsOf<Item>(groups: Iterable<readonly Item[]>): Item[][] {
  const parts: Item[][] = []
  for (const group of groups) {
    const last = parts.at(-1)
    if (last && last.length + group.length <= partSize) last.push(...group)
    else parts.push([...group])
  }
  return parts
}
