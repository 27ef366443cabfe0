import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createScreen, stateBar, type Terminal, table, wrap } from '../../src/apps/cli/terminal.ts'

function terminal(options: Partial<Terminal> = {}): Terminal & { written: string } {
  return {
    isLive: true,
    columns: 20,
    rows: 5,
    written: '',
    write(text) {
      this.written += text
    },
    ...options,
  }
}

describe('a screen', () => {
  it('redraws in place, within the size of the terminal', () => {
    const fake = terminal()
    const screen = createScreen(fake)
    screen.draw(Array.from({ length: 9 }, (_, index) => `\u001b[31m${'x'.repeat(30)}\u001b[39m${index}`))
    const lines = fake.written.split('\n')
    expect(lines).toHaveLength(5)
    expect(stripVTControlCharacters(lines[1] ?? '')).toBe('x'.repeat(20))
    fake.written = ''
    screen.draw(['y'])
    expect(fake.written).toContain('\u001b[4A\u001b[0J')
    fake.written = ''
    screen.print('stays')
    expect(fake.written).toBe('\u001b[1A\u001b[0Jstays\ny\n')
    screen.end()
    expect(fake.written.endsWith('\u001b[?25h')).toBe(true)
  })

  it('cuts lines of wide characters before they take a second line of the terminal', () => {
    const fake = terminal()
    createScreen(fake).draw([`a${'装'.repeat(20)}`, `${'é'.normalize('NFD').repeat(20)}x`, '🟢'.repeat(20)])
    expect(fake.written.replace('\u001b[?25l', '').split('\n').slice(0, 3)).toEqual([
      `a${'装'.repeat(9)}`,
      'é'.normalize('NFD').repeat(20),
      '🟢'.repeat(10),
    ])
  })

  it('prints plain lines without a terminal', () => {
    const fake = terminal({ isLive: false })
    const screen = createScreen(fake)
    screen.draw(['not seen'])
    screen.print('seen')
    screen.end()
    expect(fake.written).toBe('seen\n')
  })
})

describe('a wrapped line', () => {
  it('breaks at spaces, whatever its colours', () => {
    expect(wrap('12 applied, \u001b[31m3 stale\u001b[39m, 4 refused', 20)).toEqual([
      '12 applied, \u001b[31m3 stale\u001b[39m,',
      '  4 refused',
    ])
  })

  it('stays one line where there is room', () => {
    expect(wrap('12 applied', 20)).toEqual(['12 applied'])
  })
})

describe('a bar of states', () => {
  const count = fc.oneof(fc.constant(0), fc.nat(10_000))
  const counts = fc.record({
    PENDING: count,
    INSTALLING: count,
    INSTALLED: count,
    FAILED: count,
    REMOVING: count,
    REMOVED: count,
  })

  it('fills its width, and shows every state with a count', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 6, max: 80 }), (shown, width) => {
        const states = Object.values(shown).filter((n) => n > 0).length
        const bar = stateBar(terminal(), shown, width)
        expect(stripVTControlCharacters(bar)).toBe(states === 0 ? '' : '█'.repeat(width))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour for each state.
        expect(bar.match(/\u001b\[\d+m█+/g) ?? []).toHaveLength(states)
      }),
    )
  })
})

describe('a table', () => {
  it('aligns columns by visible width', () => {
    expect(
      table([
        ['a', 'bb', 'c'],
        ['\u001b[31maaa\u001b[39m', 'b', ''],
      ]),
    ).toEqual(['a    bb  c', '\u001b[31maaa\u001b[39m  b'])
  })

  it('aligns columns of wide characters', () => {
    expect(
      table([
        ['ポンプ', 'x'],
        ['pump', 'y'],
      ]),
    ).toEqual(['ポンプ  x', 'pump    y'])
  })

  it('may have any number of rows', () => {
    expect(table(Array.from({ length: 200_000 }, () => ['a']))).toHaveLength(200_000)
  })
})
