/** Random reports of a small fleet, and the parts into which each grouping divides a deployment. */
import fc from 'fast-check'
import type { StatusReport } from '../../../src/domain/report.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import type { Api } from '../harness.ts'

const sites = ['munich', 'bonn', null] as const
const messages = [
  'could not pull registry.example/app:1.2 from 10.0.0.7',
  'could not pull registry.example/app:1.3 from 10.0.0.8',
  'out of memory on node 4',
] as const

const errors = fc.option(
  fc.record({ code: fc.constantFrom('ImagePull', 'OOM'), message: fc.constantFrom(...messages) }),
  { nil: null },
)
const states = fc.constantFrom('PENDING', 'INSTALLING', 'INSTALLED', 'FAILED') as fc.Arbitrary<StatusReport['state']>
const component = fc.record({ name: fc.constantFrom('web', 'db', 'cache'), state: states, error: errors })
export const sent = fc.record({
  device: fc.integer({ min: 0, max: 5 }),
  deployment: fc.integer({ min: 0, max: 2 }),
  state: states,
  error: errors,
  components: fc.uniqueArray(component, { maxLength: 3, selector: ({ name }) => name }),
  adoptedManifestVersion: fc.option(fc.constantFrom('1', '2'), { nil: null }),
})

export interface Part {
  readonly key: string | null
  readonly detail: string | null
  readonly state: string
}

const normalise = (message: string) => message.replaceAll(/[A-Za-z0-9._:/@%+-]*[0-9][A-Za-z0-9._:/@%+-]*/g, '#')

// biome-ignore lint/suspicious/noExplicitAny: a row of the list, as the test selects it.
export const groupings: Record<string, (row: any) => Part[]> = {
  APPLICATION: (row) => [{ key: row.application, detail: null, state: row.state }],
  APPLICATION_VERSION: (row) => [{ key: row.applicationVersion, detail: row.application, state: row.state }],
  BLOCKING_COMPONENT: (row) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    row.components.flatMap(({ name, state }: any) => (state === row.state ? [{ key: name, detail: null, state }] : [])),
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  COMPONENT: (row) => row.components.map(({ name, state }: any) => ({ key: name, detail: null, state })),
  CONVERGENCE: (row) => [{ key: row.convergence, detail: null, state: row.state }],
  DESIRED_CHANGE: (row) => [{ key: null, detail: null, state: row.state }],
  ERROR: (row) => {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const parts = row.components.filter(({ error }: any) => error)
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const { error } = parts.find(({ state }: any) => state === 'FAILED') ?? parts[0] ?? row
    return [{ key: error?.code ?? null, detail: error ? normalise(error.message) : null, state: row.state }]
  },
  GATEWAY: (row) => [{ key: row.reporter, detail: null, state: row.state }],
  MANIFEST_VERSION: (row) => [{ key: row.adoptedManifestVersion, detail: null, state: row.state }],
  RETIREMENT: (row) => [{ key: null, detail: null, state: row.state }],
  ROLLOUT: (row) => [{ key: row.rollout.id, detail: null, state: row.state }],
  TARGET: (row) => [{ key: row.target.id, detail: null, state: row.state }],
  'LABEL, labelKey: "site"': (row) => [
    {
      key: row.target.labels.find(({ key }: { key: string }) => key === 'site')?.value ?? null,
      detail: null,
      state: row.state,
    },
  ],
}

/** The devices of the reports, two at each site. */
export async function registerSites({ road }: Api): Promise<void> {
  await road.writer.submit(
    registerDevices(
      sites.flatMap((site, index) =>
        [0, 1].map((twin) => ({
          deviceId: `edge-${index * 2 + twin}`,
          name: null,
          labels: site === null ? [] : [{ key: 'site', value: site }],
          parent: null,
          expectedInterval: null,
          tokenHash: `hash of edge-${index}-${twin}`,
        })),
      ),
    ),
  )
}
