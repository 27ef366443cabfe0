/** What is accepted although Margo's specification has it otherwise, or says nothing of it. */
import { describe, expect, it } from 'vitest'
import type { StatusReport } from '../../../src/domain/report.ts'
import { nonConforming, parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { anyRoute, smallest } from './fixtures.ts'

const nothingElse = {
  reporter: 'edge-7',
  deviceId: null,
  error: null,
  adoptedManifestVersion: null,
  seq: null,
  boot: null,
  observedAt: null,
} as const

describe('targetName', () => {
  const open = { deploymentId: null, reporter: null, requiresVersion: false }

  it('is the present name of deviceId', () => {
    expect(parseMargoBody({ ...smallest, targetName: 'gw/child' }, anyRoute).deviceId).toBe('gw/child')
    expect(parseMargoBody({ ...smallest, deviceId: null, targetName: 'gw/child' }, open).reporter).toBe('gw')
    expect(parseMargoBody({ ...smallest, deviceId: 'gw/a', targetName: 'gw/a' }, anyRoute).deviceId).toBe('gw/a')
  })

  it('must equal deviceId, and be valid', () => {
    const told = (body: object) => () => parseMargoBody({ ...smallest, ...body }, anyRoute)
    expect(told({ deviceId: 'gw/a', targetName: 'gw/b' })).toThrow(/targetName must be the deviceId/)
    expect(told({ targetName: 'gw//b' })).toThrow(/targetName must consist/)
  })
})

describe('adoptedManifestVersion', () => {
  const told = (more: object, requiresVersion: boolean) => {
    const { adoptedManifestVersion, warnings } = parseMargoBody(
      { ...smallest, ...more },
      { ...anyRoute, requiresVersion },
    )
    return [adoptedManifestVersion, warnings?.map(({ field }) => field) ?? []]
  }

  it('counts as not known if it is 0, or is not there where the route requires it', () => {
    for (const version of [0, '0'])
      expect(told({ adoptedManifestVersion: version }, false)).toEqual([null, ['adoptedManifestVersion']])
    for (const more of [{}, { adoptedManifestVersion: null }]) {
      expect(told(more, true)).toEqual([null, ['adoptedManifestVersion']])
      expect(told(more, false)).toEqual([null, []])
    }
  })
})

it('the extension of Rollcall may have the name that the specification gives extensions', () => {
  const told = (marks: unknown) => parseMargoBody({ ...smallest, 'x-rollcall-extensions': marks }, anyRoute)
  expect(told({ seq: 7, boot: 'b' })).toMatchObject({ seq: '7', boot: 'b' })
  expect(() => told({ seq: -1 })).toThrow(/x-rollcall-extensions\.seq must be/)
})

describe('failureStage', () => {
  const told = (failureStage: unknown) => parseMargoBody({ ...smallest, rollcall: { failureStage } }, anyRoute)

  it.each(['POST_PROCESSING', 'post-processing', 'Post_Processing'])('accepts %s', (word) => {
    expect(told(word).failureStage).toBe('POST_PROCESSING')
  })
  it('counts as absent if it is none of the three stages', () => {
    expect(told('later').warnings?.[0]?.message).toMatch(/^must be one of PRE_PROCESSING/)
  })
})

describe('what agents write differently from the specification', () => {
  it.each([
    ['failure', 'FAILED'],
    ['SUCCESS', 'INSTALLED'],
    ['Uninstalling', 'REMOVING'],
    ['updating', 'INSTALLING'],
    ['UPDATED', 'INSTALLED'],
    ['ReMoVeD', 'REMOVED'],
  ])('the state %s is %s', (state, meant) => {
    expect(parseMargoBody({ ...smallest, status: { state } }, anyRoute).state).toBe(meant)
  })

  it('unset optional fields may be null', () => {
    const unset = {
      kind: null,
      deviceId: null,
      adoptedManifestVersion: null,
      rollcall: null,
      reeve: null,
      metadata: null,
    }
    const report = parseMargoBody({ ...smallest, ...unset, status: { state: 'installed', error: null } }, anyRoute)
    expect(report).toEqual({ ...nothingElse, ...pick(report), deploymentId: 'pump-control', state: 'INSTALLED' })
  })

  it('unknown members are ignored', () => {
    const more = { apiVersion: 7, metadata: 'text', labels: { a: [1] }, reeve: 'text', spec: null, uniqueId: { x: 1 } }
    expect(parseMargoBody({ ...smallest, ...more }, anyRoute)).toEqual(parseMargoBody(smallest, anyRoute))
  })

  it("a vendor's unreadable clock and sequence do not order, and refuse nothing", () => {
    const unreadable = { reeve: { observedAt: 'noon', seq: -1 }, metadata: { timeStamp: 12 } }
    expect(parseMargoBody({ ...smallest, ...unreadable }, anyRoute)).toMatchObject({ seq: null, observedAt: null })
  })

  it('members of rollcall win over those of a vendor, key by key', () => {
    const marks = { rollcall: { boot: 'b' }, reeve: { seq: 5 }, metadata: { timeStamp: '2026-01-01 00:00:00Z' } }
    expect(parseMargoBody({ ...smallest, ...marks }, anyRoute)).toMatchObject({
      boot: 'b',
      seq: '5',
      observedAt: Date.parse('2026-01-01T00:00:00Z'),
    })
  })

  it('the top-level deploymentId wins over the proposal’s metadata, and components stay at the top', () => {
    const body = { ...smallest, metadata: { deploymentId: 'other' } }
    expect(parseMargoBody(body, anyRoute).deploymentId).toBe('pump-control')
  })

  it('an error with a message alone, or a code alone, is an error', () => {
    const errorOf = (error: unknown) =>
      parseMargoBody({ ...smallest, status: { state: 'failed', error } }, anyRoute).error
    expect(errorOf({ message: 'm' })).toEqual({ code: '', message: 'm' })
    expect(errorOf({ code: 'c', message: null })).toEqual({ code: 'c', message: '' })
    expect(errorOf({ code: 'c', 'message ': 'm', source: '' })).toEqual({ code: 'c', message: 'm' })
    expect(errorOf({})).toBeNull()
  })
})

describe('the reporter', () => {
  const open = { deploymentId: null, reporter: null, requiresVersion: false }

  it('is the route’s device or client, whatever the body’s deviceId', () => {
    const report = parseMargoBody({ ...smallest, deviceId: 'hall-3/pump-17' }, anyRoute)
    expect(report).toMatchObject({ reporter: 'edge-7', deviceId: 'hall-3/pump-17' })
  })

  it('is the gateway at the beginning of deviceId if the route names no device', () => {
    expect(parseMargoBody({ ...smallest, deviceId: 'hall-3/row-1/pump-17' }, open).reporter).toBe('hall-3')
    expect(parseMargoBody({ ...smallest, deviceId: 'edge-7' }, open).reporter).toBe('edge-7')
  })

  it('must agree with the path of HTTP, or the topic of MQTT', () => {
    expect(() => parseMargoBody({ ...smallest, deploymentId: 'other' }, { ...anyRoute, deploymentId: 'pump' })).toThrow(
      /deploymentId must be "[^"]+", as in the path or topic, but is "other"/,
    )
  })

  it('is anonymous if neither the route nor the body names a device', () => {
    expect(parseMargoBody(smallest, open)).toMatchObject({ reporter: 'anonymous', deviceId: null })
  })
})

describe('non-conforming reports', () => {
  const failed = (error: unknown, components: readonly unknown[] = []) =>
    nonConforming(parseMargoBody({ ...smallest, status: { state: 'failed', error }, components }, anyRoute))

  it('are failures without an error, of the deployment or of a component', () => {
    expect(failed({ code: '', message: '' })).toBe(true)
    expect(failed({ code: 'E', message: 'why' })).toBe(false)
    expect(failed({ code: 'E', message: 'why' }, [{ name: 'a', state: 'failed' }])).toBe(true)
    expect(nonConforming(parseMargoBody(smallest, anyRoute))).toBe(false)
  })
})

function pick({ components, dialect }: StatusReport) {
  return { components, dialect }
}
