import { describe, expect, it } from 'vitest'
import { nonConforming, parseMargoBody, parseReportText } from '../../../src/dialects/margo/parse.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { anyRoute, fixtureNames, readFixture, smallest } from './fixtures.ts'

const nothingElse = {
  reporter: 'edge-7',
  deviceId: null,
  error: null,
  adoptedManifestVersion: null,
  seq: null,
  boot: null,
  observedAt: null,
} as const

const seedId = 'a3e2f5dc-912e-494f-8395-52cf3769bc06'
const issue10Id = '3a5549f2-02a4-4faf-9bc4-1ea9866684c1'

const expected: Record<string, StatusReport> = {
  'seed-example': {
    ...nothingElse,
    deploymentId: seedId,
    state: 'PENDING',
    components: [
      { name: 'digitron-orchestrator', state: 'PENDING', error: null },
      { name: 'database-services', state: 'PENDING', error: null },
    ],
    dialect: 'margo/2024-09',
  },
  'first-proposal': {
    ...nothingElse,
    deploymentId: issue10Id,
    state: 'INSTALLED',
    components: [],
    dialect: 'margo/2024-05',
  },
  'issue-10-example-1': {
    ...nothingElse,
    deploymentId: issue10Id,
    state: 'INSTALLING',
    components: [
      { name: 'digitron-orchestrator', state: 'INSTALLED', error: null },
      { name: 'database-services', state: 'INSTALLING', error: null },
    ],
    observedAt: Date.parse('2024-06-10T08:37:54Z'),
    dialect: 'margo/2024-06',
  },
  'issue-10-example-2': {
    ...nothingElse,
    deploymentId: issue10Id,
    state: 'INSTALLED',
    components: [
      { name: 'digitron-orchestrator', state: 'INSTALLED', error: null },
      { name: 'database-services', state: 'INSTALLED', error: null },
    ],
    observedAt: Date.parse('2024-06-10T09:03:27Z'),
    dialect: 'margo/2024-06',
  },
  'issue-10-example-3': {
    ...nothingElse,
    deploymentId: issue10Id,
    state: 'FAILED',
    components: [
      { name: 'digitron-orchestrator', state: 'INSTALLED', error: null },
      {
        name: 'database-services',
        state: 'FAILED',
        error: {
          code: 'InvalidArgument',
          message:
            "failed to provision volume with StorageClass 'default': rpc error: code = InvalidArgument desc = unsupported access mode: MULTI_NODE_MULTI_WRITER",
        },
      },
    ],
    observedAt: Date.parse('2024-06-10T08:51:13Z'),
    dialect: 'margo/2024-06',
  },
  'issue-10-example-4': {
    ...nothingElse,
    deploymentId: issue10Id,
    state: 'FAILED',
    error: { code: 'HostUnavailable', message: 'Unable to communicate with the Kubernetes cluster' },
    components: [
      { name: 'digitron-orchestrator', state: 'PENDING', error: null },
      { name: 'database-services', state: 'PENDING', error: null },
    ],
    observedAt: Date.parse('2024-06-10T09:03:27Z'),
    dialect: 'margo/2024-06',
  },
  'status-list': {
    ...nothingElse,
    deploymentId: 'pump-control',
    state: 'INSTALLING',
    components: [{ name: 'plc-bridge', state: 'INSTALLING', error: null }],
    dialect: 'margo/2024-09',
  },
  capitalised: {
    ...nothingElse,
    deploymentId: 'pump-control',
    state: 'INSTALLING',
    components: [
      { name: 'plc-bridge', state: 'INSTALLED', error: null },
      { name: 'historian', state: 'INSTALLING', error: null },
    ],
    dialect: 'margo/2024-09',
  },
  manifest: {
    ...nothingElse,
    deploymentId: 'pump-control',
    state: 'PENDING',
    error: { code: 'WAITING', message: 'for the policy agent' },
    components: [
      { name: 'plc-bridge', state: 'PENDING', error: null },
      { name: 'historian', state: 'PENDING', error: null },
    ],
    dialect: 'margo/2025-10',
  },
  'gateway-child': {
    ...nothingElse,
    deploymentId: 'pump-control',
    deviceId: 'hall-3/pump-17',
    state: 'FAILED',
    error: { code: '102', message: 'Child device unreachable', source: 'hall-3' },
    components: [
      {
        name: 'plc-bridge',
        state: 'FAILED',
        error: { code: '102', message: 'Child device unreachable', source: 'hall-3' },
      },
    ],
    dialect: 'margo/2025-10',
  },
  'release-candidate': {
    ...nothingElse,
    deploymentId: 'pump-control',
    deviceId: 'hall-3/pump-17',
    adoptedManifestVersion: '18446744073709551615',
    state: 'REMOVING',
    components: [],
    dialect: 'margo/1.0',
  },
  'vendor-marks': {
    ...nothingElse,
    deploymentId: 'pump-control',
    state: 'INSTALLED',
    components: [{ name: 'plc-bridge', state: 'INSTALLED', error: null }],
    seq: '0',
    observedAt: Date.parse('2026-07-10T06:12:03.250Z'),
    dialect: 'margo/2025-10',
  },
  'rollcall-marks': {
    ...nothingElse,
    deploymentId: 'pump-control',
    state: 'INSTALLED',
    components: [{ name: 'plc-bridge', state: 'INSTALLED', error: null }],
    seq: '42',
    boot: '7',
    observedAt: Date.parse('2026-07-10T06:12:03Z'),
    dialect: 'margo/1.0',
  },
}

describe('every generation of the body', () => {
  it.each(fixtureNames)('%s is understood', (name) => {
    expect(parseMargoBody(readFixture(name), anyRoute)).toEqual(expected[name])
  })

  it('is the same report on every route', () => {
    const route = { deploymentId: 'pump-control', reporter: 'edge-7', requiresVersion: true }
    expect(parseMargoBody(readFixture('release-candidate'), route)).toEqual(expected['release-candidate'])
  })
})

describe('YAML', () => {
  const yaml = (text: string) => parseReportText(Buffer.from(text), 'application/yaml; charset=utf-8')

  it('is taken as the proposals write it, without quotes', async () => {
    const second = `
kind: DeploymentStatus
metadata:
    deploymentId: ${issue10Id}
    timeStamp: 2024-06-10 08:37:54Z
status:
  state: installing
  components:
    - name: digitron-orchestrator
      state: installed
    - name: database-services
      state: installing`
    expect(parseMargoBody(await yaml(second), anyRoute)).toEqual(expected['issue-10-example-1'])
    const first = `
kind: Margo Deployment Status
metadata:
    name: hello-world-deployment
    uniqueId: ${issue10Id}
deploymentInformation:
    status: Installed`
    expect(parseMargoBody(await yaml(first), anyRoute)).toEqual(expected['first-proposal'])
    expect(parseMargoBody(await yaml(first.replace('uniqueId', 'uniqueID')), anyRoute)).toEqual(
      expected['first-proposal'],
    )
  })

  it('loses no digit', async () => {
    const text =
      '{deploymentId: d, adoptedManifestVersion: 18446744073709551615, status: {state: installed}, components: []}'
    expect(parseMargoBody(await yaml(text), anyRoute).adoptedManifestVersion).toBe('18446744073709551615')
  })

  it.each([
    ['what is not YAML', 'status: [', /line 1/],
    ['two documents', 'a: 1\n---\na: 2', /one YAML document/],
    ['a key twice', 'status: 1\nstatus: 2', /status must not be repeated/],
    ['what contains itself', 'a: &a [*a]', /contain itself/],
    [
      'a billion laughs',
      `a: &a [1,1]\n${[...'bcdefghi'].map((k, i) => `${k}: &${k} [*${'abcdefgh'[i]},*${'abcdefgh'[i]}]`).join('\n')}`,
      /alias/,
    ],
  ])('refuses %s', async (_, text, why) => {
    await expect(yaml(text)).rejects.toThrow(why)
    await expect(yaml(text)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }))
  })
})

describe('targetName', () => {
  const open = { deploymentId: null, reporter: null, requiresVersion: false }

  it('is what deviceId is called now', () => {
    expect(parseMargoBody({ ...smallest, targetName: 'gw/child' }, anyRoute).deviceId).toBe('gw/child')
    expect(parseMargoBody({ ...smallest, deviceId: null, targetName: 'gw/child' }, open).reporter).toBe('gw')
    expect(parseMargoBody({ ...smallest, deviceId: 'gw/a', targetName: 'gw/a' }, anyRoute).deviceId).toBe('gw/a')
  })

  it('must say the same as deviceId, and be one', () => {
    const told = (body: object) => () => parseMargoBody({ ...smallest, ...body }, anyRoute)
    expect(told({ deviceId: 'gw/a', targetName: 'gw/b' })).toThrow(/targetName must be the deviceId/)
    expect(told({ targetName: 'gw//b' })).toThrow(/targetName must consist/)
  })
})

it('our extension may have the name that the specification gives extensions', () => {
  const told = (marks: unknown) => parseMargoBody({ ...smallest, 'x-rollcall-extensions': marks }, anyRoute)
  expect(told({ seq: 7, boot: 'b' })).toMatchObject({ seq: '7', boot: 'b' })
  expect(() => told({ seq: -1 })).toThrow(/x-rollcall-extensions\.seq must be/)
})

describe('where it failed', () => {
  const told = (failureStage: unknown) => parseMargoBody({ ...smallest, rollcall: { failureStage } }, anyRoute)

  it.each(['POST_PROCESSING', 'post-processing', 'Post_Processing'])('is told as %s', (word) => {
    expect(told(word).failureStage).toBe('POST_PROCESSING')
  })
  it('must be one of the three', () => {
    expect(() => told('later')).toThrow(/rollcall\.failureStage must be one of PRE_PROCESSING/)
  })
})

describe('what agents write differently', () => {
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

  it('whatever else a body holds is ignored', () => {
    const more = { apiVersion: 7, metadata: 'text', labels: { a: [1] }, reeve: 'text', spec: null, uniqueId: { x: 1 } }
    expect(parseMargoBody({ ...smallest, ...more }, anyRoute)).toEqual(parseMargoBody(smallest, anyRoute))
  })

  it("a vendor's unreadable clock and sequence do not order, and refuse nothing", () => {
    const unreadable = { reeve: { observedAt: 'noon', seq: -1 }, metadata: { timeStamp: 12 } }
    expect(parseMargoBody({ ...smallest, ...unreadable }, anyRoute)).toMatchObject({ seq: null, observedAt: null })
  })

  it('our own marks win over a vendor’s, key by key', () => {
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

describe('who reports', () => {
  const open = { deploymentId: null, reporter: null, requiresVersion: false }

  it('is the route’s device or client, whatever the body’s deviceId', () => {
    const report = parseMargoBody({ ...smallest, deviceId: 'hall-3/pump-17' }, anyRoute)
    expect(report).toMatchObject({ reporter: 'edge-7', deviceId: 'hall-3/pump-17' })
  })

  it('is the gateway that the deviceId begins with where nobody else says it', () => {
    expect(parseMargoBody({ ...smallest, deviceId: 'hall-3/row-1/pump-17' }, open).reporter).toBe('hall-3')
    expect(parseMargoBody({ ...smallest, deviceId: 'edge-7' }, open).reporter).toBe('edge-7')
  })

  it('is anonymous where nobody says it at all', () => {
    expect(parseMargoBody(smallest, open)).toMatchObject({ reporter: 'anonymous', deviceId: null })
  })
})

describe('non-conforming reports', () => {
  const failed = (error: unknown, components: readonly unknown[] = []) =>
    nonConforming(parseMargoBody({ ...smallest, status: { state: 'failed', error }, components }, anyRoute))

  it('are failures that do not say why, of the deployment or of a component', () => {
    expect(failed({ code: '', message: '' })).toBe(true)
    expect(failed({ code: 'E', message: 'why' })).toBe(false)
    expect(failed({ code: 'E', message: 'why' }, [{ name: 'a', state: 'failed' }])).toBe(true)
    expect(nonConforming(parseMargoBody(smallest, anyRoute))).toBe(false)
  })
})

function pick({ components, dialect }: StatusReport) {
  return { components, dialect }
}
