/** Items that may be made each time they are read: the thousands of a command are then not all in memory. An array is one, too. */
export interface ItemList<Item> {
  readonly length: number
  at(index: number): Item | undefined
}

export function lazyList<From, Item>(from: readonly From[], make: (item: From, index: number) => Item): ItemList<Item> {
  return {
    length: from.length,
    at(index) {
      const item = from[index]
      return item === undefined ? undefined : make(item, index)
    },
  }
}

/** The items at these indexes, with their indexes. */
export function itemsAt<Item extends object>(
  list: ItemList<Item>,
  indexes: readonly number[],
): (Item & { readonly index: number })[] {
  return indexes.flatMap((index) => {
    const item = list.at(index)
    return item ? [{ ...item, index }] : []
  })
}

export function indexesOf({ length }: ItemList<unknown>): number[] {
  return Array.from({ length }, (_, index) => index)
}
