/** Nothing a device can send is a bug of ours: it is a report, or a refusal that says where to look. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { deploymentStates } from '../../../src/domain/values.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { anyRoute, fixtureNames, readFixture } from './fixtures.ts'

/** `status`, `status[0].error.code`, `components[1].name` … */
const fieldPath = /^[A-Za-z]+(\[\d+\])?(\.[A-Za-z]+(\[\d+\])?)*$/
const u64 = /^(0|[1-9]\d{0,19})$/

const keys = [
  'deploymentId deviceId kind status state components name error code message source Error metadata timeStamp',
  'adoptedManifestVersion rollcall reeve seq boot observedAt __proto__ constructor toString length',
].flatMap((line) => line.split(' '))
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    'installed',
    'FAILED',
    'a/b',
    '\0',
    '\ud800',
    '0',
    '18446744073709551616',
    '2026-07-10T06:12:03Z',
  ),
)
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(anyText, fc.double(), fc.integer(), fc.bigInt(), fc.boolean(), fc.constantFrom(null, undefined)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 6 }),
  ),
})).value
const anyReportRoute = fc.record({
  deploymentId: fc.constantFrom(null, 'pump-control'),
  reporter: fc.constantFrom(null, 'edge-7'),
  requiresVersion: fc.boolean(),
})

function judge(body: unknown, route = anyRoute as Parameters<typeof parseMargoBody>[1]): StatusReport | DomainError {
  try {
    return parseMargoBody(body, route)
  } catch (error) {
    if (error instanceof DomainError) return error
    throw error
  }
}

function expectSound(outcome: StatusReport | DomainError): void {
  if (outcome instanceof DomainError) {
    if (outcome.code === 'INVALID_REQUEST') return
    expect(outcome.code).toBe('SEMANTIC_ERROR')
    expect(outcome.problems).not.toHaveLength(0)
    for (const { field, message } of outcome.problems) {
      expect(field).toMatch(fieldPath)
      expect(message).toMatch(/^must /)
    }
    return
  }
  for (const { field, message } of outcome.warnings ?? []) {
    expect(field).toMatch(fieldPath)
    expect(message).toMatch(/^must /)
  }
  // Without backslashes in texts, which quote a value in a sentence.
  const text = JSON.stringify(outcome).replaceAll('\\\\', '')
  expect(text).not.toContain('\\u0000')
  expect(text).not.toMatch(/\\ud[89a-f]/)
  expect(deploymentStates).toContain(outcome.state)
  for (const { state, name } of outcome.components) {
    expect(deploymentStates).toContain(state)
    expect(name).not.toBe('')
  }
  expect(new Set(outcome.components.map((component) => component.name)).size).toBe(outcome.components.length)
  for (const digits of [outcome.seq, outcome.adoptedManifestVersion]) if (digits !== null) expect(digits).toMatch(u64)
  if (outcome.observedAt !== null) expect(Number.isSafeInteger(outcome.observedAt)).toBe(true)
}

it('any JSON is a report or a refusal', () => {
  fc.assert(fc.property(anyValue, anyReportRoute, (body, route) => expectSound(judge(body, route))))
})

/** Every place in a body: ['components', 0, 'state'] … */
function placesOf(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return at.length > 0 ? [at] : []
  const inside = Object.entries(value).flatMap(([key, item]) => placesOf(item, [...at, key]))
  return at.length > 0 ? [at, ...inside] : inside
}

function replaceAt(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value)
  copy[key] = replaceAt(copy[key], rest, by)
  return copy
}

const anyMutation = fc
  .constantFrom(...fixtureNames)
  .map(readFixture)
  .chain((body) => fc.record({ body: fc.constant(body), place: fc.constantFrom(...placesOf(body)), by: anyValue }))

it('a valid body with one place changed is still one, or the refusal names that part of it', () => {
  fc.assert(
    fc.property(anyMutation, ({ body, place, by }) => {
      const outcome = judge(replaceAt(body, place, by))
      expectSound(outcome)
      if (!(outcome instanceof DomainError)) return
      // The 2024-06 proposal without its metadata is an incomplete body of the later generations, which misses more.
      const parts = place[0] === 'metadata' ? ['metadata', 'deploymentId', 'components'] : [place[0]]
      for (const { field } of outcome.problems) expect(parts).toContain(/^[A-Za-z]+/.exec(field)?.[0])
    }),
    { numRuns: 1000 },
  )
})
