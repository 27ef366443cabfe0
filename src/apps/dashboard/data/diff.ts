/** Compares two texts line by line, and folds long unchanged parts. */
import { diffArrays } from 'diff'

export interface Line {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
  /** The line number in the text before and in the text after. Null: the line is not in that text. */
  readonly before: number | null
  readonly after: number | null
}

export interface Hunk {
  readonly isFolded: boolean
  readonly lines: readonly Line[]
}

/** The number of unchanged lines around each change. */
const context = 3
/** Milliseconds for the comparison. Texts that need longer are shown as one removed and one added. */
const longest = 1_000

export function diffLines(before: string, after: string): Line[] {
  const [old, young] = [split(before), split(after)]
  const parts = diffArrays(old, young, { timeout: longest }) ?? [
    { value: old, removed: true },
    { value: young, added: true },
  ]
  let [b, a] = [0, 0]
  return parts.flatMap(({ value, added, removed }) =>
    value.map((text): Line => {
      if (added) return { kind: 'added', text, before: null, after: ++a }
      if (removed) return { kind: 'removed', text, before: ++b, after: null }
      return { kind: 'same', text, before: ++b, after: ++a }
    }),
  )
}

export function foldLines(lines: readonly Line[]): Hunk[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(index - context, 0), index + context + 1).some(({ kind }) => kind !== 'same'),
  )
  const hunks: { isFolded: boolean; lines: Line[] }[] = []
  for (const [index, line] of lines.entries()) {
    const isFolded = !isNear[index]
    const last = hunks.at(-1)
    if (last?.isFolded === isFolded) last.lines.push(line)
    else hunks.push({ isFolded, lines: [line] })
  }
  // A single line takes no more space than the note that would replace it.
  return hunks.map(({ isFolded, lines: own }) => ({ isFolded: isFolded && own.length > 1, lines: own }))
}

/** The final line break does not start another line. */
function split(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}
