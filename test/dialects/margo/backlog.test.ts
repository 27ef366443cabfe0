import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { mostItems, parseBacklog } from '../../../src/ingest/dialects/margo/backlog.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'
import { fixtureNames, readFixture, smallest } from './fixtures.ts'

const json = 'application/json; charset=utf-8'
const ndjson = 'application/x-ndjson'
const good = { ...smallest, deviceId: 'edge-7' }
const bad = { ...good, status: { state: 'running' } }

const parseNow = (...sent: Parameters<typeof parseBacklog>) =>
  atOnce(parseBacklog(...sent)).map((item) => (item.ok ? ({ ok: true, report: item.read() } as const) : item))
type ParsedItem = ReturnType<typeof parseNow>[number]

const parseReports = (reports: unknown, credential?: string) => parseNow(JSON.stringify({ reports }), json, credential)

function sketch(item: ParsedItem | undefined): unknown {
  if (item === undefined) return undefined
  if (item.ok) return [item.report.reporter, item.report.deviceId]
  return [item.error.code, ...item.error.problems.map((problem) => problem.field)]
}

function codeOf(body: string, contentType: string): string {
  try {
    parseNow(body, contentType)
    return 'read'
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

describe('a backlog', () => {
  it('is a list of reports of any generation, in an object or bare, or a report a line', () => {
    const items = fixtureNames.map((name) => ({ ...readFixture(name), deviceId: 'edge-7' }))
    const texts = items.map((item) =>
      JSON.stringify(item, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    )
    const [first, ...others] = [
      parseNow(Buffer.from(`{"reports":[${texts}]}`), json),
      parseNow(`[${texts}]`, 'application/json'),
      parseNow(`\n${texts.join('\r\n \t\n')}`, ndjson),
      parseNow(Buffer.from(`${texts.join('\n')}\n`), 'Application/JSONL;charset=utf-8'),
    ]
    expect(first?.map((item) => item.ok)).toEqual(items.map(() => true))
    for (const other of others) expect(other).toEqual(first)
  })

  it('keeps every digit', () => {
    const text = JSON.stringify({ ...good, adoptedManifestVersion: 0 }).replace(':0', ':18446744073709551615')
    for (const item of [...parseNow(`[${text}]`, json), ...parseNow(text, ndjson)])
      expect(item).toMatchObject({ report: { adoptedManifestVersion: '18446744073709551615' } })
  })

  it('may be empty', () => {
    expect(parseReports([])).toEqual([])
    expect(parseNow('', ndjson)).toEqual([])
  })

  it('answers each item in its place: none spoils another', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 20 }), (kinds) => {
        const items = kinds.map((isGood) => (isGood ? good : bad))
        const expected = kinds.map((isGood) => (isGood ? ['edge-7', 'edge-7'] : ['SEMANTIC_ERROR', 'status.state']))
        expect(parseReports(items).map(sketch)).toEqual(expected)
        expect(parseNow(items.map((item) => JSON.stringify(item)).join('\n'), ndjson).map(sketch)).toEqual(expected)
      }),
    )
  })

  it('answers what is no report at all in its place too', () => {
    let deep: unknown = 1
    for (let i = 0; i < 100; i++) deep = [deep]
    expect(parseReports([null, good, [good], 'text', { ...good, deep }]).map(sketch)).toEqual([
      ['INVALID_REQUEST'],
      ['edge-7', 'edge-7'],
      ['INVALID_REQUEST'],
      ['INVALID_REQUEST'],
      ['INVALID_REQUEST'],
    ])
    const line = Buffer.from(JSON.stringify(good))
    const newline = Buffer.from('\n')
    const lines = [Buffer.from('{"half":'), line, Buffer.of(0x22, 0xff, 0x22), line].flatMap((part) => [part, newline])
    expect(parseNow(Buffer.concat(lines), ndjson).map(sketch)).toEqual([
      ['INVALID_REQUEST'],
      ['edge-7', 'edge-7'],
      ['INVALID_REQUEST'],
      ['edge-7', 'edge-7'],
    ])
  })

  it.each([
    ['no JSON', '{"reports":', json, 'INVALID_REQUEST'],
    ['NDJSON called JSON', '{}\n{}', json, 'INVALID_REQUEST'],
    ['a text', '"reports"', json, 'INVALID_REQUEST'],
    ['no list', '{"reports":{}}', json, 'SEMANTIC_ERROR'],
    ['no reports', '{}', json, 'SEMANTIC_ERROR'],
    ['too many', `[${'0,'.repeat(mostItems)}0]`, json, 'TOO_LARGE'],
    ['too many lines', '0\n'.repeat(mostItems + 1), ndjson, 'TOO_LARGE'],
    ['just not too many', '0\n'.repeat(mostItems), ndjson, 'read'],
  ])('is answered as a whole only when it is %s', (_case, body, contentType, code) => {
    expect(codeOf(body, contentType)).toBe(code)
  })

  it('reads a deep item once, not once for each level', () => {
    const values = `12345678901234567890${',"xxxxxxxxxxxxxxxx"'.repeat(20_000)}`
    const timeOf = (depth: number) => {
      const from = performance.now()
      expect(parseNow(`[${'['.repeat(depth)}${values}${']'.repeat(depth)}]`, json).map(sketch)).toEqual([
        ['INVALID_REQUEST'],
      ])
      return performance.now() - from
    }
    expect(Math.min(timeOf(1_000), timeOf(1_000))).toBeLessThan(16 * Math.max(timeOf(10), timeOf(10)))
  })

  it('says how to send more reports than one request may have', () => {
    const parse = () => atOnce(parseBacklog('0\n'.repeat(mostItems + 1), ndjson))
    expect(parse).toThrow('at most 10000 reports: send several requests')
  })
})

it('keeps the reports of a small backlog in memory, and of a large one only their places', () => {
  for (const [count, isKept] of [
    [2, true],
    [9_000, false],
  ] as const) {
    const text = JSON.stringify(Array.from({ length: count }, () => ({ ...good, padding: 'x'.repeat(100) })))
    const [first] = atOnce(parseBacklog(text, json))
    if (!first?.ok) throw new Error('the report was refused')
    const [report, again] = [first.read(), first.read()]
    expect(again).toEqual(report)
    expect(again === report).toBe(isKept)
  }
})

describe('the reporter of an item', () => {
  const child = { ...smallest, deviceId: 'gw/pump' }

  it.each<[string, object, string | undefined, unknown]>([
    ['is the device itself', good, undefined, ['edge-7', 'edge-7']],
    ['is the gateway that its deviceId begins with', child, undefined, ['gw', 'gw/pump']],
    ['is the credential’s client', child, 'client-1', ['client-1', 'gw/pump']],
    ['is the credential’s client without a deviceId too', smallest, 'client-1', ['client-1', null]],
    ['is its clientId', { ...child, clientId: 'client-2' }, 'client-1', ['client-2', 'gw/pump']],
    ['is its reporter above all', { ...smallest, reporter: 'r:1', clientId: 'c' }, undefined, ['r:1', null]],
    ['must be said somehow', smallest, undefined, ['SEMANTIC_ERROR', 'deviceId']],
    ['must not be empty', { ...bad, reporter: '' }, undefined, ['SEMANTIC_ERROR', 'reporter', 'status.state']],
    ['must not look like another', { ...smallest, reporter: 'edge-7\n' }, undefined, ['SEMANTIC_ERROR', 'reporter']],
    ['must be a string', { ...smallest, clientId: 5 }, undefined, ['SEMANTIC_ERROR', 'clientId']],
  ])('%s', (_case, item, credential, outcome) => {
    expect(parseReports([item], credential).map(sketch)).toEqual([outcome])
  })
})
