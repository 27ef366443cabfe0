/** Commands of many items, in parts: divided-write.ts writes them. */
import { BatchTooLarge, leastMeasured } from '../store/write/load/measured.ts'
import type { Command, WritePart } from './command.ts'

/** Items of one part. One part takes some megabytes, and each part costs a few statements. A part with larger rows has fewer items. */
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

/** All items in one part, if they are few and their rows are not too large. */
export function wholeOrInParts<Result>(
  items: { readonly length: number },
  whole: () => Command<Result>,
  divided: (write: WritePart) => Promise<Result>,
): Command<Result> {
  return items.length <= partSize ? { ...whole(), ifTooLarge: divided } : inParts(divided)
}

/** Writes items part by part, in order. `first`: the index of the first item of a part. */
export async function eachPart<Item, Result>(
  items: readonly Item[],
  write: (part: readonly Item[], first: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let size = partSize
  for (let first = 0; first < items.length; ) {
    const part = items.slice(first, first + size)
    try {
      results.push(await write(part, first))
      first += part.length
    } catch (error) {
      // Nothing was decided, and the transaction goes on. The other items are probably as large.
      if (!(error instanceof BatchTooLarge) || part.length === 1) throw error
      size = Math.min(leastMeasured, Math.ceil(part.length / 2))
    }
  }
  return results
}
