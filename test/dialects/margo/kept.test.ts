/** What explains is kept as far as it can be stored (docs/wire.md §1.6). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostErrorBytes, type StatusReport } from '../../../src/domain/report.ts'
import { isStorable } from '../../../src/domain/text.ts'
import { acknowledgement } from '../../../src/ingest/dialects/margo/acknowledge.ts'
import { deviationsOf } from '../../../src/ingest/dialects/margo/deviations.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { anyRoute, smallest } from './fixtures.ts'

const read = (body: unknown): StatusReport => parseMargoBody(body, anyRoute)
const long = (length: number) => 'x'.repeat(length)
const component = { name: 'a', state: 'installed' }
const withError = (error: unknown) => ({ ...smallest, status: { state: 'failed', error } })
const withComponents = (...components: unknown[]) => ({ ...smallest, components })
const fieldsOf = ({ warnings = [] }: StatusReport) => warnings.map(({ field }) => field)
const bytesOf = (report: StatusReport) =>
  [report.error, ...report.components.map(({ error }) => error)]
    .flatMap((error) => (error ? [error.code, error.message, error.source ?? ''] : []))
    .reduce((sum, text) => sum + Buffer.byteLength(text), 0)

describe('an error is kept', () => {
  it.each<[string, unknown, string, object]>([
    ['that is a string', 'boom', 'status.error', { code: '', message: 'boom' }],
    ['that is a list', ['a', 1n], 'status.error', { code: '', message: '["a","1"]' }],
    ['whose code is an object', { code: {}, message: 'm' }, 'status.error.code', { code: '{}', message: 'm' }],
    ['whose message is a number', { code: 'c', message: 5 }, 'status.error.message', { code: 'c', message: '5' }],
    ['with NUL', { code: 'c', Error: 'a\0b' }, 'status.error.message', { code: 'c', message: 'a\ufffdb' }],
    [
      'with half of a surrogate pair',
      { code: 'c', source: '\udc00' },
      'status.error.source',
      { code: 'c', message: '', source: '\ufffd' },
    ],
    [
      'with a long code',
      { code: long(1025), message: 'm' },
      'status.error.code',
      { code: long(1024), message: 'm', originalLength: 1026 },
    ],
    [
      'with a long message, cut between characters',
      { code: 'c', message: '😀'.repeat(65_537) },
      'status.error.message',
      { code: 'c', message: '😀'.repeat(65_536), originalLength: 65_538 },
    ],
  ])('%s', (_case, error, field, kept) => {
    const report = read(withError(error))
    expect(report).toMatchObject({ state: 'FAILED', error: kept })
    expect(new Set(fieldsOf(report))).toEqual(new Set([field]))
    expect(deviationsOf(report)).toContainEqual({
      kind: 'TEXT_ALTERED',
      example: expect.stringContaining(`deployment pump-control: ${field} must `),
    })
  })

  it('as far as there is room for all errors of a report', () => {
    const parts = Array.from({ length: 8 }, (_, n) => ({
      name: `${n}`,
      state: 'failed',
      error: { code: 'c', message: '😀'.repeat(20_000) },
    }))
    const report = read({ ...withError({ code: 'own', message: long(65_536) }), components: parts })
    expect(bytesOf(report)).toBeLessThanOrEqual(mostErrorBytes)
    expect(bytesOf(report)).toBeGreaterThan(mostErrorBytes - 4)
    expect(report.error).toEqual({ code: 'own', message: long(65_536) })
    expect(report.components.map(({ error }) => error?.originalLength)).toEqual([
      ...Array(3).fill(undefined),
      ...Array(5).fill(20_001),
    ])
    expect(fieldsOf(report)).toEqual(['components'])
  })
})

describe('a component that is malformed costs itself only', () => {
  it.each<[string, unknown, string, string | null]>([
    ['a string', 'b', 'components[1]', null],
    ['without a name', { state: 'installed' }, 'components[1].name', null],
    ['with an empty name', { name: '', state: 'installed' }, 'components[1].name', null],
    ['with a name too long', { name: long(257), state: 'installed' }, 'components[1].name', null],
    ['without a state', { name: 'b' }, 'components[1].state', 'b'],
    ['with an unknown state', { name: 'b', state: 'sleeping' }, 'components[1].state', 'b'],
  ])('%s', (_case, item, field, name) => {
    const report = read(withComponents(component, item))
    expect(report.components).toEqual([{ name: 'a', state: 'INSTALLED', error: null }])
    expect(report.unread).toEqual([{ name, said: expect.stringContaining('must') }])
    expect(fieldsOf(report)).toEqual([field])
    expect(deviationsOf(report)).toContainEqual(expect.objectContaining({ kind: 'PART_NOT_UNDERSTOOD' }))
    expect(acknowledgement({ verdict: 'APPLIED', revision: 5, warnings: report.warnings ?? [] })).toEqual({
      ...{ acknowledgement: 'received', verdict: 'APPLIED', revision: '5' },
      warnings: [{ field, message: expect.stringMatching(/^must /) }],
    })
  })

  it('one that is listed twice, unless both have one state', () => {
    const twice = read(
      withComponents(component, { name: 'b', state: 'failed' }, { ...component, error: { code: 'x' } }),
    )
    expect(twice.components.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(twice.unread).toBeUndefined()
    const unclear = read(withComponents(component, { name: 'b', state: 'failed' }, { name: 'a', state: 'failed' }))
    expect(unclear.components.map(({ name }) => name)).toEqual(['b'])
    expect(unclear.unread).toEqual([{ name: 'a', said: 'in the list more than once, as INSTALLED and as FAILED' }])
    for (const report of [twice, unclear]) expect(fieldsOf(report)).toEqual(['components'])
  })

  it('those beyond the first thousand', () => {
    const items = Array.from({ length: 1001 }, (_, n) => ({ name: `${n}`, state: 'installed' }))
    const report = read(withComponents(...items))
    expect(report.components).toHaveLength(1000)
    expect(report.unread).toEqual([{ name: null, said: expect.stringContaining('1001') }])
  })

  it.each([[undefined], [null], [{}], ['a']])('a list that is %j says nothing', (components) => {
    const report = read({ ...smallest, components })
    expect(report).toMatchObject({ state: 'INSTALLED', components: [] })
    expect(fieldsOf(report)).toEqual(['components'])
    expect(fieldsOf(read({ metadata: { deploymentId: 'x' }, status: { state: 'installed', components } }))).toEqual([
      'status.components',
    ])
  })

  it('but not those inside the status of a generation that has them outside', () => {
    const status = { state: 'installed', components: [component] }
    expect(read({ deploymentId: 'x', status }).components).toEqual([])
  })
})

it('keeps a report with an unknown failure stage', () => {
  const report = read({ ...withError({ code: 'c', message: 'm' }), rollcall: { failureStage: 'later', seq: 1 } })
  expect(report).toMatchObject({ state: 'FAILED', seq: '1' })
  expect(report.failureStage).toBeUndefined()
  expect(fieldsOf(report)).toEqual(['rollcall.failureStage'])
})

it('takes each report whose id and state are valid, and what it keeps can be stored', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.constant('\0\ud800'))
  const error = fc.oneof(fc.anything(), fc.record({ code: text, message: text, source: text }, { requiredKeys: [] }))
  const item = fc.oneof(fc.anything(), fc.record({ name: text, state: fc.oneof(text, fc.constant('failed')), error }))
  fc.assert(
    fc.property(error, fc.oneof(fc.anything(), fc.array(item)), (own, components) => {
      const report = read({ deploymentId: 'x', status: { state: 'failed', error: own }, components })
      expect(report.state).toBe('FAILED')
      expect(isStorable(JSON.stringify(report.error))).toBe(true)
      for (const part of report.components)
        for (const one of [part.name, part.error?.message, part.error?.code, part.error?.source])
          expect(isStorable(one ?? '')).toBe(true)
      for (const { said } of report.unread ?? []) expect(isStorable(said)).toBe(true)
      for (const { example } of deviationsOf(report)) expect(isStorable(example)).toBe(true)
    }),
  )
})
