/** How many WebSockets and event streams somebody has open: each holds memory here for as long as he likes. */
export interface Streams {
  /** Null: he has as many as he may. Otherwise call it when that one is over. */
  open(whose: string): (() => void) | null
}

export function createStreams(most: number | null): Streams {
  const open = new Map<string, number>()
  return {
    open(whose) {
      const count = open.get(whose) ?? 0
      if (most !== null && count >= most) return null
      open.set(whose, count + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const left = (open.get(whose) ?? 1) - 1
        if (left === 0) open.delete(whose)
        else open.set(whose, left)
      }
    },
  }
}
