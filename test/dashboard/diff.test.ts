/** Two texts line by line. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { diffLines, foldLines, type Line } from '../../src/apps/dashboard/data/diff.ts'

const shown = (lines: readonly Line[]) =>
  lines.map(({ kind, text }) => `${{ same: ' ', added: '+', removed: '-' }[kind]}${text}`)

it('tells what came, what went and what stayed, with the numbers of the lines', () => {
  const lines = diffLines('a\nb\nc\n', 'a\nx\nc\nd\n')
  expect(shown(lines)).toEqual([' a', '-b', '+x', ' c', '+d'])
  expect(lines.map(({ before, after }) => [before, after])).toEqual([
    [1, 1],
    [2, null],
    [null, 2],
    [3, 3],
    [null, 4],
  ])
  expect(shown(diffLines('', 'a\n'))).toEqual(['+a'])
  expect(diffLines('', '')).toEqual([])
})

it('leads from each text to the other, whatever they are', () => {
  const text = fc.array(fc.constantFrom('a', 'b', '', 'c d')).map((lines) => lines.map((line) => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      const without = (kind: Line['kind']): string =>
        lines.flatMap((line) => (line.kind === kind ? [] : [`${line.text}\n`])).join('')
      expect([without('added'), without('removed')]).toEqual([before, after])
      expect(foldLines(lines).flatMap((stretch) => stretch.lines)).toEqual(lines)
    }),
  )
})

it('folds what is far from every change, and nothing that takes no more room than saying so', () => {
  const text = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`)
  const changed = (...numbers: number[]): string =>
    text.map((line, index) => (numbers.includes(index + 1) ? 'new\n' : line)).join('')
  const folds = (after: string): number[] =>
    foldLines(diffLines(text.join(''), after)).flatMap(({ isFolded, lines }) => (isFolded ? [lines.length] : []))
  expect(folds(changed(10))).toEqual([6, 7])
  expect(folds(changed(5, 16))).toEqual([4])
  expect(folds(text.join(''))).toEqual([20])
})
