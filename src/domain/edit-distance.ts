/** How far a mistyped word is from a known one. */

/** Letters to insert, remove, replace or swap with their neighbour (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    const above = rows[i - 1] ?? []
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : replaced
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped))
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] ?? 0
}

/** The known word that was probably meant; null: none is near. */
export function nearest(word: string, known: readonly string[]): string | null {
  const most = word.length <= 3 ? 1 : word.length <= 6 ? 2 : 3
  const ranked = known
    .map((each) => ({ each, distance: editDistance(word.toLowerCase(), each.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0] && ranked[0].distance <= most ? ranked[0].each : null
}
