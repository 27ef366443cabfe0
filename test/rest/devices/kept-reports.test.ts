/** A state is never lost for its prose: what a device says is kept as far as it can be stored, and all readers see what is missing. */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCertificates } from '../../auth/devices/certificates.ts'
import { registerAll } from '../../auth/devices/devices.ts'
import { digestOf, newKey, signed } from '../../auth/devices/signing.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const path = '/api/v1/device/press/deployment/firmware/status'
const whole = {
  deploymentId: 'firmware',
  status: { state: 'installing' },
  components: [
    { name: 'web', state: 'installed' },
    { name: 'db', state: 'installing' },
  ],
}
const damaged = {
  deploymentId: 'firmware',
  status: { state: 'failed', error: { code: 'E7', message: `\0${'x'.repeat(70_000)}` } },
  components: [
    { name: 'web', state: 'sleeping' },
    { name: 'db', state: 'failed' },
    { name: 'new', state: 'sleeping' },
    7,
  ],
}

/** In Latin-1, so a character from é to ÿ is a byte that is not UTF-8. */
const latin1 = (body: unknown) => Buffer.from(JSON.stringify(body), 'latin1')
const inLatin1 = { deploymentId: 'firmware', status: { state: 'failed', error: { code: 'E7', message: 'kühl' } } }

describe('where texts are kept', () => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp()
    expect((await app.post(path, whole)).status).toBe(201)
  })
  afterAll(() => app.stop())

  it('a report with a text that cannot be stored and components that are malformed is taken, and the answer names them', async () => {
    const answer = await app.post(path, damaged)
    expect(answer.status).toBe(201)
    const { verdict, revision, warnings } = (await answer.json()) as Record<string, { field: string }[]>
    expect(verdict).toBe('APPLIED')
    expect(warnings?.map(({ field }) => field)).toEqual([
      'status.error.message',
      'status.error.message',
      'components[0].state',
      'components[2].state',
      'components[3]',
    ])
    const fields =
      'state error { code message isTruncated originalLength } components { name state notUnderstood error { isTruncated } }'
    const shown = {
      state: 'FAILED',
      error: { code: 'E7', message: `\ufffd${'x'.repeat(65_535)}`, isTruncated: true, originalLength: 70_003 },
      components: [
        { name: 'web', state: 'INSTALLED', notUnderstood: expect.stringContaining('"sleeping"'), error: null },
        { name: 'db', state: 'FAILED', notUnderstood: null, error: null },
      ],
    }
    const { device, past } = await app.query(
      `query ($at: Revision!) {
        device(deviceId: "press") { deviations { kind count example } deployments(first: 1) { nodes { ${fields} history(last: 9) { nodes { ... on ComponentStateChanged { component from to notUnderstood } } }
          reports(last: 1) { nodes { components { name state notUnderstood } } } } } }
        past: device(deviceId: "press", atRevision: $at) { deployments(first: 1) { nodes { ${fields} } } }
      }`,
      { at: revision },
    )
    const [present] = device.deployments.nodes
    expect(present).toMatchObject(shown)
    expect(past.deployments.nodes).toMatchObject([shown])
    expect(present.history.nodes).toContainEqual({
      ...{ component: 'web', from: 'INSTALLED', to: 'INSTALLED' },
      notUnderstood: expect.stringContaining('"sleeping"'),
    })
    expect(present.reports.nodes).toMatchObject([
      { components: [{ name: 'web', notUnderstood: expect.any(String) }, { name: 'db' }] },
    ])
    expect(device.deviations).toEqual(
      expect.arrayContaining([
        { kind: 'TEXT_ALTERED', count: 1, example: expect.stringContaining('status.error.message') },
        { kind: 'PART_NOT_UNDERSTOOD', count: 1, example: expect.stringContaining('components[0].state') },
      ]),
    )
    const rows = await (await fetch(`${app.url}/export/deployments`)).text()
    expect(JSON.parse(rows.split('\n')[0] ?? '').components).toMatchObject([
      { notUnderstood: expect.any(String) },
      { name: 'db' },
    ])
  })

  it('a text whose bytes are not UTF-8 is kept with U+FFFD, and an id with such bytes is refused by its name', async () => {
    const answer = await app.post(
      '/api/v1/device/saw/deployment/firmware/status',
      latin1({ ...inLatin1, components: [] }),
    )
    expect([answer.status, await answer.json()]).toMatchObject([201, { warnings: [{ field: 'status.error.message' }] }])
    const { device } = await app.query(
      '{ device(deviceId: "saw") { deviations { kind example } deployments(first: 1) { nodes { state error { message } } } } }',
    )
    expect(device.deployments.nodes).toEqual([{ state: 'FAILED', error: { message: 'k\ufffdhl' } }])
    expect(device.deviations).toContainEqual({ kind: 'TEXT_ALTERED', example: expect.stringContaining('status.error') })
    const items = [{ ...inLatin1, deploymentId: 'kühl' }, inLatin1, whole].map((item) => ({ ...item, reporter: 'saw' }))
    const { results } = (await (await app.post('/reports', latin1(items))).json()) as { results: object[] }
    expect(results).toMatchObject([
      { status: 422, errors: expect.arrayContaining([expect.objectContaining({ field: 'deploymentId' })]) },
      { verdict: 'UNCHANGED', warnings: [{ field: 'status.error.message' }, { field: 'components' }] },
      { verdict: 'APPLIED' },
    ])
  })

  it('in a backlog too, and the same report again is a repeat', async () => {
    const answer = await app.post('/reports', [{ ...damaged, reporter: 'press' }])
    const { results } = (await answer.json()) as { results: Record<string, unknown>[] }
    expect(results).toMatchObject([{ verdict: 'UNCHANGED', warnings: expect.arrayContaining([]) }])
    expect(results[0]?.warnings).toHaveLength(5)
  })

  it('the capabilities of a device are kept without its serial number, which is a deviation', async () => {
    const properties = { id: 'lathe', vendor: 'v'.repeat(300), modelNumber: 'm\0' }
    expect(
      (await app.post('/api/v1/device/lathe/capabilities', { kind: 'DeviceCapabilities', properties })).status,
    ).toBe(201)
    const { device } = await app.query('{ device(deviceId: "lathe") { deviations { kind example } } }')
    expect(device.deviations).toEqual([
      { kind: 'PART_NOT_UNDERSTOOD', example: expect.stringContaining('properties.vendor') },
    ])
    const named = { id: 'lathe', vendor: 'v', modelNumber: 'm', serialNumber: 's', note: 'kühl' }
    const sent = latin1({ kind: 'DeviceCapabilities', properties: named })
    expect((await app.post('/api/v1/device/lathe/capabilities', sent)).status).toBe(201)
    const again = await app.query(
      '{ device(deviceId: "lathe") { deviations { kind example } capabilities { document } } }',
    )
    expect(again.device.capabilities.document.properties.note).toBe('k\ufffdhl')
    expect(again.device.deviations).toContainEqual({ kind: 'TEXT_ALTERED', example: expect.stringContaining('UTF-8') })
  })

  it('a certificate under its former name is accepted, which is a deviation', async () => {
    const certificates = await createCertificates()
    try {
      const { cert } = await (await certificates.authority('any')).issue('some device')
      const answer = await app.post('/api/v1/onboarding', {
        public_certificate: new X509Certificate(cert).raw.toString('base64'),
      })
      expect(answer.status).toBe(201)
      const { clientId } = (await answer.json()) as { clientId: string }
      const { device } = await app.query('query ($id: String!) { device(deviceId: $id) { deviations { kind } } }', {
        id: clientId,
      })
      expect(device.deviations).toEqual([{ kind: 'FORMER_FIELD_NAME' }])
    } finally {
      await certificates.remove()
    }
  })
})

it('checks signatures and digests over the bytes that were sent, also where they are not UTF-8', async () => {
  const app = await startApp({ env: { DEVICE_AUTH: 'signature' } })
  try {
    const key = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
    const body = latin1({ ...inLatin1, components: [] })
    const headers = signed(key, { url: `${app.url}${path}`, body })
    const mended = { ...headers, 'content-digest': digestOf(body.toString()) }
    expect((await app.post(path, body, mended)).status).toBe(401)
    expect((await app.post(path, body, headers)).status).toBe(201)
  } finally {
    await app.stop()
  }
})

it('with STRICT_REPORTS each of them is refused with the same fields, and changes nothing', async () => {
  const app = await startApp({ env: { STRICT_REPORTS: 'true' } })
  try {
    await app.post(path, whole)
    const answer = await app.post(path, damaged)
    expect(answer.status).toBe(422)
    const { errors } = (await answer.json()) as { errors: { field: string }[] }
    expect(errors.map(({ field }) => field)).toContain('components[0].state')
    const backlog = await app.post('/reports', [{ ...damaged, reporter: 'press' }])
    expect(((await backlog.json()) as { results: object[] }).results).toMatchObject([
      { verdict: 'REFUSED', status: 422 },
    ])
    const bytes = await app.post(path, latin1({ ...whole, note: 'kühl' }))
    expect([bytes.status, await bytes.json()]).toMatchObject([422, { errors: [{ field: 'body' }] }])
    const capabilities = { kind: 'DeviceCapabilities', properties: { id: 'lathe' } }
    expect((await app.post('/api/v1/device/lathe/capabilities', capabilities)).status).toBe(422)
    expect(await app.query('{ deploymentCounts { installing failed } }')).toEqual({
      deploymentCounts: { installing: 1, failed: 0 },
    })
  } finally {
    await app.stop()
  }
})
