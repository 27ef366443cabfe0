/** A small fleet behind the API, of every kind that queries distinguish. */
import { afterAll, beforeAll } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import type { Store } from '../support/databases/stores.ts'
import { type Api, startApi } from './harness.ts'

export function useFleet(store: Store): () => Api {
  let api: Api

  beforeAll(async () => {
    api = await startApi({ store })
    await api.road.writer.submit(
      registerDevices([
        device('edge-1', { name: 'Press 4', labels: [{ key: 'site', value: 'munich' }], expectedInterval: 30 }),
        device('gw', {}),
        device('gw/child', { parent: 'gw' }),
      ]),
    )
    await api.road.writer.submit(
      declareDeployments({ name: 'spring', project: 'fleet' }, [
        {
          deviceId: 'edge-1',
          deploymentId: 'd-1',
          application: 'nginx',
          applicationVersion: '1.2',
          components: ['web', 'db'],
        },
        { deviceId: 'edge-2', deploymentId: 'd-2', application: 'nginx', applicationVersion: '1.2', components: null },
      ]),
    )
    const failure = { code: 'E42', message: 'Disk full: 100%', source: 'runtime' }
    await api.report({
      reporter: 'edge-1',
      deploymentId: 'd-1',
      state: 'FAILED',
      error: failure,
      components: [part('web', 'INSTALLED')],
      observedAt: Date.parse('2026-01-02T03:04:05.678Z'),
      adoptedManifestVersion: '18446744073709551615',
      seq: '18446744073709551614',
    })
    await api.report({ reporter: 'gw', deviceId: 'gw/child', deploymentId: 'shared', state: 'INSTALLED' })
    await api.report({ reporter: 'edge-3', deploymentId: 'shared', state: 'REMOVED' })
  })
  afterAll(() => api.close())
  return () => api
}

function device(deviceId: string, some: object) {
  return {
    deviceId,
    name: null,
    labels: null,
    parent: null,
    expectedInterval: null,
    tokenHash: `hash of ${deviceId}`,
    ...some,
  }
}

function part(name: string, state: 'INSTALLED' | 'PENDING') {
  return { name, state, error: null }
}
