import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Manifest } from '../../../src/ingest/dialects/devices.ts'
import { createManifest } from '../../../src/ingest/dialects/margo/manifest.ts'

const [a, b, c] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string, string]
const manifest: Manifest = {
  version: '18446744073709551615',
  deployments: [
    { deploymentId: 'pumps', digest: a, size: 12 },
    { deploymentId: 'a/b', digest: b, size: null },
  ],
  bundle: { digest: c, size: 2048 },
}

it('says what to run and where it is, in one order and with every digit', () => {
  const { bytes, etag } = createManifest(manifest, '/margo/api/v1/clients/edge-1')
  const text = Buffer.from(bytes).toString()
  const base = '/margo/api/v1/clients/edge-1'
  expect(text).toMatch(/^\{"manifestVersion":18446744073709551615,"bundle":/)
  expect(JSON.parse(text)).toEqual({
    manifestVersion: 18446744073709552000,
    bundle: {
      mediaType: 'application/vnd.margo.bundle.v1+tar+gzip',
      digest: c,
      sizeBytes: 2048,
      url: `${base}/bundles/${c}`,
    },
    deployments: [
      { deploymentId: 'a/b', digest: b, url: `${base}/deployments/a%2Fb/${b}` },
      { deploymentId: 'pumps', digest: a, sizeBytes: 12, url: `${base}/deployments/pumps/${a}` },
    ],
  })
  expect(etag).toBe(`"sha256:${createHash('sha256').update(bytes).digest('hex')}"`)
})

it('is the same for the same', () => {
  const reversed = { ...manifest, deployments: manifest.deployments.toReversed() }
  expect(createManifest(reversed, '/api/v1')).toEqual(createManifest(manifest, '/api/v1'))
})

it('says null for the bundle of nothing', () => {
  const { bytes } = createManifest({ version: '1', deployments: [], bundle: null }, '/api/v1')
  expect(Buffer.from(bytes).toString()).toBe('{"manifestVersion":1,"bundle":null,"deployments":[]}')
})
