import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { bodyOf, registerAll, statusOf } from './devices.ts'
import { digestOf, newKey } from './signing.ts'

/** What may stand in a header. */
const text = fc.string({ unit: fc.constantFrom(...':;,="()<>!*+/?@%.- abcXYZ019'), maxLength: 80 })
const key = newKey.ed25519()
const body = JSON.stringify(bodyOf())

const oneOf = (...templates: ((filling: string) => string)[]) =>
  fc.tuple(fc.constantFrom(...templates), text).map(([template, filling]) => template(filling))

const headers = fc.record(
  {
    authorization: oneOf(
      (x) => x,
      (x) => `Bearer ${x}`,
      (x) => `Bearer eyJhbGciOiJIUzI1NiJ9.${Buffer.from(x).toString('base64url')}.AAAA`,
    ),
    'content-digest': oneOf(
      (x) => x,
      (x) => `sha-256=:${x}:`,
      () => digestOf(body),
    ),
    'signature-input': oneOf(
      (x) => x,
      (x) => `s=(${x});keyid="${key.keyId}";created=${Math.floor(Date.now() / 1000)}`,
      (x) => `s=("@method" "@target-uri" "content-digest");created=1;keyid="${key.keyId}"${x}`,
      (x) =>
        `s=("@method" "@target-uri" "content-digest" "@query-param";name="${x.replaceAll('"', '')}");created=${Math.floor(Date.now() / 1000)};keyid="${key.keyId}"`,
    ),
    signature: oneOf(
      (x) => x,
      (x) => `s=:${Buffer.from(x).toString('base64')}:`,
    ),
    'client-cert': oneOf(
      (x) => x,
      (x) => `:${Buffer.from(x).toString('base64')}:`,
    ),
  },
  { requiredKeys: [] },
)

describe('credentials that are made up', () => {
  let app: RunningApp
  beforeAll(async () => {
    const env = {
      DEVICE_AUTH: 'token,signature,mtls',
      DEVICE_JWT_SECRET: 'a-secret-that-only-the-tests-know-of',
      TRUSTED_PROXIES: '127.0.0.1',
      CLIENT_CERT_HEADER: 'overwritten',
    }
    app = await startApp({ env })
    await registerAll(app, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
  })
  afterAll(() => app.stop())

  it('are refused, each as an error of the client and never of the server', async () => {
    await fc.assert(
      fc.asyncProperty(headers, async (made) => {
        const response = await app.post(statusOf('press'), body, made)
        expect([400, 401, 403]).toContain(response.status)
        expect(await response.json()).toMatchObject({ retryable: false, error: expect.any(String) })
      }),
      { numRuns: someOf(60, 500) },
    )
    expect((await app.query('{ deploymentCounts { total } }')).deploymentCounts.total).toBe(0)
  })
})
