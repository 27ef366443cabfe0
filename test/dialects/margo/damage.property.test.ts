/** Damage to what explains never costs the state of a deployment, and damage to what decides never passes (docs/wire.md §1.6). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { isStorable } from '../../../src/domain/text.ts'
import { parseBacklog } from '../../../src/ingest/dialects/margo/backlog.ts'
import { deviationsOf } from '../../../src/ingest/dialects/margo/deviations.ts'
import { margoReports } from '../../../src/ingest/dialects/margo/index.ts'
import { isObject } from '../../../src/platform/body/problems.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'
import { anyRoute, smallest } from './fixtures.ts'

const whole = {
  ...{ kind: 'DeploymentStatus', deploymentId: 'pump-control', deviceId: 'gw/pump', adoptedManifestVersion: '7' },
  status: { state: 'failed', error: { code: 'E7', message: 'the disk is full', source: 'pump' } },
  components: [
    { name: 'web', state: 'installed' },
    { name: 'db', state: 'failed', error: { code: '9', message: 'no room' } },
  ],
  rollcall: { seq: 12, boot: 'b1', observedAt: '2026-07-10T06:12:03Z', failureStage: 'PRE_PROCESSING' },
  metadata: { timeStamp: '2026-07-10 06:12:03' },
  reeve: { seq: 5, observedAt: '2026-07-10T06:12:03Z' },
}

const explaining = [
  'status.error|status.error.code|status.error.message|status.error.source|components|components.0|components.0.name',
  'components.1.state|components.1.error|components.1.error.message|rollcall.failureStage|metadata.timeStamp|metadata',
  'reeve|reeve.seq|reeve.observedAt|apiVersion|note',
].flatMap((line) => line.split('|'))
const deciding = [
  'deploymentId|deviceId|targetName|kind|status|status.state|adoptedManifestVersion|rollcall|rollcall.seq',
  'rollcall.boot|rollcall.observedAt',
].flatMap((line) => line.split('|'))

/** Stands for bytes in a text. */
const places = ['@0@', '@1@', '@2@', '@3@'] as const
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 6, arbitrary: fc.constantFrom(...places) },
  fc
    .tuple(
      fc.constantFrom('\ud83d', '\0', 'a', '\ufffd', ''),
      fc.constantFrom(...places),
      fc.constantFrom('\udc00', ''),
    )
    .map((parts) => parts.join('')),
  { weight: 1, arbitrary: fc.constant('x'.repeat(70_000)) },
)
const said = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(text, fc.double({ noNaN: true }), fc.constantFrom(null, true, '@number@')),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom('code', 'message', 'name', 'state')), tie('value'), { maxKeys: 4 }),
  ),
})).value
const wrong = fc.oneof(
  fc.constantFrom('@0@', 'a@1@', 'installed@2@', 'installed\ud800', '\0'),
  fc.array(said, { minLength: 2, maxLength: 3 }),
)
const broken = fc
  .array(fc.constantFrom(0x80, 0xbf, 0xc0, 0xe2, 0xed, 0xf0, 0xff), { maxLength: 2 })
  .map((bytes) => [...bytes, 0xff])
const number = fc.constantFrom('1e999', '9'.repeat(1_500), '-0.1234567890123456789', '12345678901234567890')

type Damage = readonly (readonly [place: string, by: unknown])[]

function bytesOf(damage: Damage, fillings: readonly (readonly number[])[], digits: string): Buffer {
  const body = damage.reduce<unknown>((value, [place, by]) => replaceAt(value, place.split('.'), by), whole)
  const latin = Buffer.from(JSON.stringify(body).replaceAll('"@number@"', digits)).toString('latin1')
  const filled = places.reduce(
    (sent, place, i) => sent.replaceAll(place, String.fromCharCode(...(fillings[i] ?? []))),
    latin,
  )
  return Buffer.from(filled, 'latin1')
}

function replaceAt(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  // What was replaced by a text before has no places any more.
  if (value !== undefined && !isObject(value) && !Array.isArray(value)) return value
  const copy = Object.assign(Array.isArray(value) ? [] : {}, value) as Record<string, unknown>
  copy[key] = replaceAt(copy[key], rest, by)
  return copy
}

const good = Buffer.from(JSON.stringify({ ...smallest, deviceId: 'edge-8' }))
const join = (open: string, between: string, close: string, ...items: Buffer[]) =>
  Buffer.concat([
    Buffer.from(open),
    ...items.flatMap((item, i) => [Buffer.from(i === 0 ? '' : between), item]),
    Buffer.from(close),
  ])

/** The report on each road, or why it is refused. */
async function reports(sent: Buffer): Promise<readonly (StatusReport | DomainError)[]> {
  const single = await margoReports
    .read(sent, 'application/json', anyRoute)
    .catch((error: unknown) => error as DomainError)
  const backlogs = [
    parse(join('{"reports":[', ',', ']}', good, sent, good), 'application/json'),
    parse(join('[', ',', ']', good, sent, good), 'application/json'),
    parse(join('', '\n', '\n', good, sent, good), 'application/x-ndjson'),
  ]
  for (const [before, , after] of backlogs)
    for (const other of [before, after]) expect(other).toMatchObject({ state: 'INSTALLED', deviceId: 'edge-8' })
  for (const items of backlogs) for (const other of [items[0], items[2]]) expect(other).not.toHaveProperty('warnings')
  return [single, ...backlogs.map(([, item]) => item as StatusReport | DomainError)]
}

function parse(sent: Buffer, contentType: string): readonly (StatusReport | DomainError)[] {
  return atOnce(parseBacklog(sent, contentType)).map((item) => (item.ok ? item.read() : item.error))
}

describe('random damage', () => {
  it('to what explains never costs the state', async () => {
    const damage = fc.array(fc.tuple(fc.constantFrom(...explaining), said), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        damage,
        fc.array(broken, { minLength: 4, maxLength: 4 }),
        number,
        async (parts, fillings, digits) => {
          for (const report of await reports(bytesOf(parts, fillings, digits))) {
            expect(report).toMatchObject({
              ...{ deploymentId: 'pump-control', deviceId: 'gw/pump', adoptedManifestVersion: '7', state: 'FAILED' },
              ...{ seq: '12', boot: 'b1', observedAt: Date.UTC(2026, 6, 10, 6, 12, 3) },
            })
            const { error, components, unread = [] } = report as StatusReport
            const kept = [error, ...components.map((part) => part.error)].flatMap((one) => [
              one?.code,
              one?.message,
              one?.source,
            ])
            const examples = deviationsOf(report as StatusReport).map(({ example }) => example)
            for (const one of [
              ...kept,
              ...components.map(({ name }) => name),
              ...unread.map((part) => part.said),
              ...examples,
            ])
              expect(isStorable(one ?? '')).toBe(true)
          }
        },
      ),
    )
  })

  it('to what decides is always refused with the name of the field', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...deciding),
        wrong,
        fc.array(broken, { minLength: 4, maxLength: 4 }),
        async (place, by, fillings) => {
          for (const refused of await reports(bytesOf([[place, by]], fillings, '1'))) {
            expect(refused).toBeInstanceOf(DomainError)
            const { code, problems } = refused as DomainError
            expect(code).toBe('SEMANTIC_ERROR')
            expect(problems.map(({ field }) => field)).toContain(place)
          }
        },
      ),
    )
  })
})

it('names bytes that are not UTF-8 in a member that is not read, too', async () => {
  for (const report of await reports(bytesOf([['note', '@0@']], [[0xff]], '1')))
    expect(report).toMatchObject({ warnings: [{ kind: 'TEXT_ALTERED', field: 'body' }] })
})
