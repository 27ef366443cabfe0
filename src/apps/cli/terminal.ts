/** Terminal output: a block of lines that is redrawn in place, or plain lines when the output is not a terminal. */
import { stripVTControlCharacters, styleText } from 'node:util'
import type { DeploymentState } from '../../domain/values.ts'
import { exitCodes } from '../../server/process/arguments.ts'

export interface Terminal {
  /** Whether the output is a terminal: lines can be redrawn and have colours. */
  readonly isLive: boolean
  readonly columns: number
  readonly rows: number
  write(text: string): void
}

interface Screen {
  /** Replaces the block. */
  draw(lines: readonly string[]): void
  /** Prints a permanent line above the block. */
  print(line: string): void
  /** Keeps the last block on the screen. */
  end(): void
}

export function terminalOf(stream: NodeJS.WriteStream): Terminal {
  return {
    isLive: stream.isTTY === true && process.env.TERM !== 'dumb',
    get columns() {
      return stream.columns ?? 80
    },
    get rows() {
      return stream.rows ?? 24
    },
    write: (text) => void stream.write(text),
  }
}

/** Ends the process if nothing can be written: without a message if the reader is gone, as with `| head`, but not if the disk is full. */
export function exitWithoutOutput(stream: NodeJS.WriteStream): void {
  stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(exitCodes.interrupted)
    console.error(`cannot write the output: ${message}`)
    process.exit(exitCodes.failed)
  })
}

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'

/** Without a terminal `draw` does nothing: only printed lines appear. */
export function createScreen(terminal: Terminal): Screen {
  let block: readonly string[] = []
  const erase = (): string => (block.length === 0 ? '' : `\u001b[${block.length}A\u001b[0J`)
  const show = (lines: readonly string[]): string => {
    block = lines.slice(0, Math.max(terminal.rows - 1, 1)).map((line) => cut(line, terminal.columns))
    return block.map((line) => `${line}\n`).join('')
  }
  return {
    draw(lines) {
      if (terminal.isLive) terminal.write(`${hideCursor}${erase()}${show(lines)}`)
    },
    print(line) {
      const before = erase()
      terminal.write(terminal.isLive ? `${before}${line}\n${show(block)}` : `${line}\n`)
    },
    end() {
      if (terminal.isLive) terminal.write(showCursor)
      block = []
    },
  }
}

type Colour = Parameters<typeof styleText>[0]

const stateColours: Record<DeploymentState, Colour> = {
  PENDING: 'gray',
  INSTALLING: 'blue',
  INSTALLED: 'green',
  FAILED: 'red',
  REMOVING: 'yellow',
  REMOVED: 'dim',
}

export function inStateColour(terminal: Terminal, state: DeploymentState, text: string): string {
  return paint(terminal, stateColours[state], text)
}

export function paint(terminal: Terminal, colour: Colour, text: string): string {
  return terminal.isLive ? styleText(colour, text, { validateStream: false }) : text
}

/** A bar of `width` cells in proportion to the counts; each state with a count gets at least one cell if there are enough. */
export function stateBar(terminal: Terminal, counts: Readonly<Record<DeploymentState, number>>, width: number): string {
  const states = (Object.keys(stateColours) as DeploymentState[]).filter((state) => counts[state] > 0)
  const total = states.reduce((sum, state) => sum + counts[state], 0)
  const cells = new Map(states.map((state) => [state, Math.max(1, Math.round((counts[state] / total) * width))]))
  const sum = (): number => [...cells.values()].reduce((a, b) => a + b, 0)
  const widest = (): DeploymentState | undefined =>
    states.toSorted((a, b) => (cells.get(b) ?? 0) - (cells.get(a) ?? 0))[0]
  for (let off = width - sum(); off !== 0 && states.length > 0; off = width - sum()) {
    const state = widest()
    if (!state || (off < 0 && (cells.get(state) ?? 0) <= 1)) break
    cells.set(state, (cells.get(state) ?? 0) + Math.sign(off))
  }
  return states.map((state) => inStateColour(terminal, state, '█'.repeat(cells.get(state) ?? 0))).join('')
}

/** Aligns columns to their widest cell, measured without colour codes. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[column] ?? '')), 0),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - widthOf(cell), 0)))
      .join('  ')
      .trimEnd(),
  )
}

/** Breaks a line at its spaces, so that a narrow terminal shows all of it. A word that is wider than the terminal stays whole. */
export function wrap(line: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of line.split(' ')) {
    const last = lines.at(-1)
    const longer = `${last} ${word}`
    if (last !== undefined && widthOf(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(last === undefined ? word : `  ${word}`)
  }
  return lines
}

/** Columns of the terminal. East Asian characters and emoji take two, and marks that combine with the character before them none. */
function widthOf(text: string): number {
  const visible = stripVTControlCharacters(text)
  if (/^[\x20-\x7e]*$/.test(visible)) return visible.length
  return Array.from(visible, columnsOf).reduce((sum, columns) => sum + columns, 0)
}

const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u
const combining = /[\p{Mn}\p{Me}\p{Cf}]/u

function columnsOf(character: string): number {
  if (combining.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

function beginOf(text: string, columns: number): string {
  let left = columns
  let kept = ''
  for (const character of text) {
    left -= columnsOf(character)
    if (left < 0) break
    kept += character
  }
  return kept
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with a control character.
const escapes = /(\u001b\[[0-9;?]*[A-Za-z])/

function cut(line: string, columns: number): string {
  let left = columns
  const parts = line.split(escapes).map((part, index) => {
    if (index % 2 === 1) return part
    const width = widthOf(part)
    const kept = width <= left ? part : beginOf(part, left)
    left = width <= left ? left - width : 0
    return kept
  })
  return parts.join('')
}
