/** Every generation of Margo's bodies, in JSON and YAML. */
import { describe, expect, it } from 'vitest'
import type { StatusReport } from '../../../src/domain/report.ts'
import { parseMargoBody, parseReportText } from '../../../src/ingest/dialects/margo/parse.ts'
import { anyRoute, fixtureNames, readFixture } from './fixtures.ts'

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
    ['ten thousand lists in each other', '['.repeat(10_000) + ']'.repeat(10_000), /nested deeper than 64 levels/],
    ['six thousand maps in each other', '{a: '.repeat(6_000) + '}'.repeat(6_000), /nested deeper than 64 levels/],
    ['lists in each other without an end', `{"reports":${'['.repeat(30_000)}`, /nested deeper than 64 levels/],
    ['ten thousand list items in each other', '- '.repeat(10_000), /nested deeper than 64 levels/],
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
