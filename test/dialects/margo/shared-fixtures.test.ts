/** Replays real payloads that are not ours to publish, where they lie beside the project. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { parseApplicationDeployment } from '../../../src/ingest/dialects/margo/application-deployment.ts'
import { createManifest } from '../../../src/ingest/dialects/margo/manifest.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { parseJson } from '../../../src/platform/body/json.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'

const folder = new URL('../../../../shared/fixtures/margo/payloads/', import.meta.url)
const present = existsSync(folder)

/** The one YAML file holds the proposal's examples, which are in test/fixtures as JSON. */
function payloads(name: 'history' | 'valid' | 'invalid'): string[] {
  if (!present) return []
  const files = readdirSync(new URL(`${name}/`, folder)).filter((file) => file.endsWith('.json'))
  return files.map((file) => `${name}/${file}`)
}

function replay(file: string): StatusReport {
  return parseMargoBody(parseJson(readFileSync(new URL(file, folder))), {
    deploymentId: null,
    reporter: 'edge-7',
    requiresVersion: file.includes('rc3'),
  })
}

function refusedFields(file: string): string[] {
  try {
    replay(file)
  } catch (error) {
    if (error instanceof DomainError) return error.problems.map((problem) => problem.field)
    throw error
  }
  return []
}

const offences: readonly (readonly [RegExp, string])[] = [
  [/wrong-kind/, 'kind'],
  [/bad-state/, 'status.state'],
  [/missing-deploymentId/, 'deploymentId'],
]

// Without the folder there is nothing to replay: test/fixtures/margo covers the same generations with payloads of our own.
describe.skipIf(!present)('payloads of the field', () => {
  it('are there', () => {
    expect([...payloads('history'), ...payloads('valid')].length).toBeGreaterThan(0)
    expect(payloads('invalid').length).toBeGreaterThan(0)
  })

  it.each([...payloads('history'), ...payloads('valid')])('%s is a report', (file) => {
    expect(replay(file)).toMatchObject({ reporter: 'edge-7', dialect: expect.stringMatching(/^margo\//) })
  })

  it.each(payloads('invalid'))('%s is refused by the field that is wrong', (file) => {
    const fields = refusedFields(file)
    expect(fields).not.toHaveLength(0)
    for (const [name, field] of offences) if (name.test(file)) expect(fields).toEqual([field])
  })

  it('a child that its gateway cannot reach carries code 102 and its source', () => {
    expect(replay('history/v4-gateway-sup-102-child-unreachable.json')).toMatchObject({
      deviceId: 'gateway01/subdevice01',
      state: 'FAILED',
      error: { code: '102', source: 'gateway01' },
    })
  })
})

const desired = new URL('../desired-state/', folder)

describe.skipIf(!present)('desired state of the field', () => {
  it('has a document that is one of ours', () => {
    const text = readFileSync(new URL('ApplicationDeployment-rc3-style-helm.yaml', desired), 'utf8')
    const expected = { deploymentId: 'a3e2f5dc-912e-494f-8395-52cf3769bc06', deviceId: 'gateway-01/edge-01' }
    expect(atOnce(parseApplicationDeployment(text))(expected)).toEqual({
      problems: null,
      application: 'com-northstartida-digitron-orchestrator',
      components: ['database-services', 'digitron-orchestrator'],
    })
    const other = atOnce(parseApplicationDeployment(text))({ ...expected, deviceId: 'gateway-01/edge-02' })
    expect(other.problems?.map(({ field }) => field)).toEqual(['metadata.deviceId'])
  })

  it('has a manifest that we would write', () => {
    const sample = JSON.parse(readFileSync(new URL('DesiredStateManifest-001.json', desired), 'utf8'))
    const { manifestVersion, bundle, deployments } = sample
    const artifact = ({ digest }: { digest: string }) => ({ digest, size: null })
    const { bytes } = createManifest(
      {
        version: String(manifestVersion),
        bundle: artifact(bundle),
        deployments: deployments.map((one: { deploymentId: string; digest: string }) => ({
          deploymentId: one.deploymentId,
          ...artifact(one),
        })),
      },
      '/api/v1/clients/1234',
    )
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual(sample)
  })
})
