import { describe, expect, it } from 'vitest'
import { escapeHidden, escapeLine, escapeToAscii, foldName } from '../../src/domain/look-alike.ts'

describe('hidden characters', () => {
  it.each([
    ['a direction', 'gw\u202e1', String.raw`gw\u202e1`],
    ['marks of a direction', '\u200e\u200f\u061c\u2066', String.raw`\u200e\u200f\u061c\u2066`],
    ['no width', 'a\u200b\u2060\ufeff\u00adb', String.raw`a\u200b\u2060\ufeff\u00adb`],
    ['a blank letter', '\u3164\u115f', String.raw`\u3164\u115f`],
    ['a control character', '\u001b[2J\u009b\u007f', String.raw`\u001b[2J\u009b\u007f`],
    ['separators', '\u2028\u2029', String.raw`\u2028\u2029`],
    ['two units', '\u{e0041}', String.raw`\udb40\udc41`],
  ])('of %s are escaped', (_, text, escaped) => {
    expect(escapeHidden(text)).toBe(escaped)
    expect(escapeHidden(escaped)).toBe(escaped)
    expect(JSON.parse(escapeHidden(JSON.stringify(text)))).toBe(text)
  })

  it.each(['می\u200cخواهم', '👩\u200d👩\u200d👧', '葛\u{e0100}', '☕\ufe0f', 'Grüße', 'שלום', 'a\n\tb', '\u0600١'])(
    'are none of %j',
    (text) => expect(escapeHidden(text)).toBe(text),
  )

  it('keep no line break in one line', () => {
    expect(escapeLine('a\r\n\tb\u0085')).toBe(String.raw`a b\u0085`)
  })
})

describe('a folded name', () => {
  it.each([
    ['case', 'Gate-1', 'gATE-1'],
    ['forms of an accented letter', 'caf\u00e9', 'CAFE\u0301'],
    ['an order of accents', 'a\u0323\u0302', 'a\u0302\u0323'],
    ['characters without a glyph', 'gate-1', 'gate\u200b-\u200d1\ufe0f'],
    ['spaces', 'hall 1', 'hall\u00a0\u20021'],
    ['a letter with two small forms', 'ΣΑΣ', 'σας'],
    ['a letter without a capital form', 'straße', 'STRASSE'],
    ['Cyrillic letters', 'gate-а1 роst', 'gate-a1 post'],
    ['capital letters of other scripts', 'ВКМНТ ΒΕΗΚΜ', 'BKMHT BEHKM'],
    ['Greek letters', 'οnline-ν', 'online-v'],
    ['Armenian letters', 'օսհ', 'ouh'],
    ['an accented letter of another script', 'кафе\u0308', 'kaфё'],
    ['letters of full width or of mathematics', '\uff47\uff41te \u{1d41a}', 'gate a'],
    ['a letter of two parts', '\u212b', '\u00e5'],
  ])('is the same for names that differ in %s', (_, one, other) => {
    expect(one).not.toBe(other)
    expect(foldName(one)).toBe(foldName(other))
    expect(foldName(foldName(one))).toBe(foldName(one))
  })

  it.each([
    ['gate-1', 'gate-11'],
    ['hall 1', 'hall1'],
    ['cafe', 'café'],
    ['x2', 'x²'],
    ['gw-10', 'gw-l0'],
    ['вода', 'года'],
  ])('differs for %j and %j', (one, other) => expect(foldName(one)).not.toBe(foldName(other)))

  it('shows in ASCII which letters differ', () => {
    expect(escapeToAscii('caf\u00e9')).toBe(String.raw`caf\u00e9`)
    expect(escapeToAscii('cafe\u0301')).toBe(String.raw`cafe\u0301`)
  })
})
