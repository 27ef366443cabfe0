import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { ReportRoute } from '../../../src/ingest/dialects/devices.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { anyRoute, readFixture, smallest } from './fixtures.ts'

function refusalOf(body: unknown, route: ReportRoute = anyRoute): DomainError {
  try {
    parseMargoBody(body, route)
  } catch (error) {
    if (error instanceof DomainError) return error
    throw error
  }
  throw new Error('The body was not refused.')
}

function fieldsOf(body: unknown, route?: ReportRoute): string[] {
  const error = refusalOf(body, route)
  expect(error.code).toBe('SEMANTIC_ERROR')
  return error.problems.map((problem) => problem.field)
}

const withStatus = (status: unknown) => ({ ...smallest, status })
const withError = (error: unknown) => withStatus({ state: 'failed', error })
const withComponents = (...components: unknown[]) => ({ ...smallest, components })
const withRollcall = (rollcall: unknown) => ({ ...smallest, rollcall })
const failed = (count: number, length: number) =>
  Array.from({ length: count }, (_, n) => ({
    name: `${n}`,
    state: 'failed',
    error: { code: '', message: long(length) },
  }))
const long = (length: number) => 'x'.repeat(length)

describe('a body that is no object', () => {
  it.each([[null], [[]], [[smallest]], ['text'], [5], [true], [undefined]])('%j is an invalid request', (body) => {
    expect(refusalOf(body).code).toBe('INVALID_REQUEST')
  })
})

describe('a refusal names the field', () => {
  it.each<[string, unknown, string]>([
    ['no deploymentId', { ...smallest, deploymentId: undefined }, 'deploymentId'],
    ['an empty deploymentId', { ...smallest, deploymentId: '' }, 'deploymentId'],
    ['a deploymentId that is a number', { ...smallest, deploymentId: 5 }, 'deploymentId'],
    ['a deploymentId too long', { ...smallest, deploymentId: long(257) }, 'deploymentId'],
    ['NUL in the deploymentId', { ...smallest, deploymentId: 'a\0b' }, 'deploymentId'],
    ['a lone surrogate in the deploymentId', { ...smallest, deploymentId: 'a\ud800' }, 'deploymentId'],
    ['another kind', { ...smallest, kind: 'WrongKind' }, 'kind'],
    ['a kind in another case', { ...smallest, kind: 'deploymentstatus' }, 'kind'],
    ['a kind that is no string', { ...smallest, kind: 5 }, 'kind'],
    ['no status', withStatus(undefined), 'status'],
    ['a status that is a string', withStatus('installed'), 'status'],
    ['an empty list of status', withStatus([]), 'status'],
    ['two statuses', withStatus([{ state: 'failed' }, { state: 'installed' }]), 'status'],
    ['no state', withStatus({}), 'status.state'],
    ['an unknown state', withStatus({ state: 'running' }), 'status.state'],
    ['a state that is no string', withStatus({ state: 5 }), 'status.state'],
    ['a state named like a prototype’s key', withStatus({ state: 'constructor' }), 'status.state'],
    ['an unknown state in a list', withStatus([{ state: 'running' }]), 'status[0].state'],
    ['a deviceId with a space', { ...smallest, deviceId: 'edge 7' }, 'deviceId'],
    ['a deviceId with an empty part', { ...smallest, deviceId: 'gw//pump' }, 'deviceId'],
    ['a deviceId that ends in a slash', { ...smallest, deviceId: 'gw/' }, 'deviceId'],
    ['a deviceId with a new line at its end', { ...smallest, deviceId: 'gw\n' }, 'deviceId'],
    ['an empty deviceId', { ...smallest, deviceId: '' }, 'deviceId'],
    ['a deviceId that is a number', { ...smallest, deviceId: 7 }, 'deviceId'],
    ['a deviceId too long', { ...smallest, deviceId: long(257) }, 'deviceId'],
    ['a rollcall that is no object', withRollcall('1'), 'rollcall'],
    ['a negative seq', withRollcall({ seq: -1 }), 'rollcall.seq'],
    ['an unreadable observedAt', withRollcall({ observedAt: 'noon' }), 'rollcall.observedAt'],
    ['a numeric observedAt', withRollcall({ observedAt: 1_780_000_000_000 }), 'rollcall.observedAt'],
    ['a boot that is an object', withRollcall({ boot: {} }), 'rollcall.boot'],
    ['a boot too long', withRollcall({ boot: long(257) }), 'rollcall.boot'],
    ['NUL in a boot', withRollcall({ boot: '\0' }), 'rollcall.boot'],
  ])('%s', (_case, body, field) => {
    expect(fieldsOf(body)).toEqual([field])
  })

  it.each([
    [-1],
    [1.5],
    [2 ** 53],
    [18446744073709551616n],
    [-(2n ** 63n)],
    ['1.5'],
    ['0x1'],
    ['1e3'],
    [''],
    [' 1'],
    [true],
    [{}],
    ['18446744073709551616'],
  ])('adoptedManifestVersion %s, in any generation', (adoptedManifestVersion) => {
    expect(fieldsOf({ ...smallest, adoptedManifestVersion })).toEqual(['adoptedManifestVersion'])
  })

  it('a deploymentId other than the path’s', () => {
    const route = { ...anyRoute, deploymentId: 'pump-control' }
    expect(fieldsOf({ ...smallest, deploymentId: 'Pump-control' }, route)).toEqual(['deploymentId'])
    expect(fieldsOf(readFixture('issue-10-example-1'), route)).toEqual(['metadata.deploymentId'])
  })

  it('in the 2024-06 proposal, where its fields are', () => {
    const metadata = { deploymentId: 5, timeStamp: 'whenever' }
    expect(fieldsOf({ metadata, status: { state: 'running' } })).toEqual([
      'metadata.deploymentId',
      'status.state',
      'status.components',
    ])
    expect(fieldsOf({ metadata: { deploymentId: 'x' } })).toEqual(['status'])
  })
})

describe('a refusal', () => {
  it('names every field at once, in sentences that say what is allowed', () => {
    const body = {
      kind: 'X',
      deviceId: '?',
      adoptedManifestVersion: 0,
      status: { state: 'running', error: { message: 5 } },
      components: [
        { name: 'a', state: 'off' },
        { state: 'failed', error: 'e' },
      ],
      rollcall: { seq: 1.5, observedAt: 'noon' },
    }
    const error = refusalOf(body)
    expect(error.problems.map((problem) => problem.field).sort()).toEqual([
      'adoptedManifestVersion',
      'components[0].state',
      'components[1].name',
      'deploymentId',
      'deviceId',
      'kind',
      'rollcall.observedAt',
      'rollcall.seq',
      'status.error.message',
      'status.state',
    ])
    for (const problem of error.problems) expect(problem.message).toMatch(/^must /)
    expect(error.message).toContain('kind must be DeploymentStatus or DeploymentStatusManifest')
    expect(error.message).toMatch(/\(and 7 more\)\.$/)
  })

  it('does not repeat a long value back', () => {
    expect(refusalOf(withStatus({ state: long(100_000) })).message.length).toBeLessThan(300)
  })

  it('takes what is just within the limits', () => {
    const body = {
      ...withError({ code: long(1024), message: '😀'.repeat(65_536) }),
      deploymentId: '😀'.repeat(256),
      components: Array.from({ length: 1000 }, (_, i) => ({ name: `${i}`.padStart(256, 'x'), state: 'failed' })),
    }
    expect(parseMargoBody(body, anyRoute).components).toHaveLength(1000)
    const largest = withComponents(...failed(5, 65_536))
    expect(parseMargoBody(largest, anyRoute).components).toHaveLength(5)
  })
})
