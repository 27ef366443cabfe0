import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import type { Api } from './harness.ts'

export const munich = 'viewer/label:site=munich'
export const alpha = 'viewer/project:alpha'
export const both = 'viewer/label:site=munich/project:alpha'

export const register = (api: Api, deviceId: string, site: string | null, parent: string | null = null) =>
  api.road.writer.submit(
    registerDevices([
      {
        deviceId,
        name: null,
        labels: site === null ? null : [{ key: 'site', value: site }],
        parent,
        expectedInterval: null,
        tokenHash: `hash of ${deviceId}`,
      },
    ]),
  )

export const declare = (
  api: Api,
  name: string,
  project: string | null,
  deployments: readonly (readonly [string, string])[],
) =>
  api.road.writer.submit(
    declareDeployments(
      { name, project },
      deployments.map(([deviceId, deploymentId]) => ({
        deviceId,
        deploymentId,
        application: null,
        applicationVersion: null,
        components: null,
      })),
    ),
  )
