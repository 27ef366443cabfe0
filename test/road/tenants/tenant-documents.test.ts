/**
 * What narrowed readers see of documents: however deployments move between devices and rollouts, a reader sees the documents that were listed
 * while their deployment was in its scope, and the changes of manifests that were made for it. The unnarrowed reader is the model's only source:
 * it observes every place after every command.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { type Api, startApi } from '../../graphql/harness.ts'
import { namedAuth } from '../../graphql/principals.ts'
import { type Store, stores } from '../../support/databases/stores.ts'

const runs = Number(process.env.ROLLCALL_TENANT_RUNS ?? 2)
const devices = ['gw/1', 'gw/2'] as const
type Tenant = 'a' | 'b'

const device = fc.constantFrom(...devices)
const id = fc.constantFrom('d-1', 'd-2')
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('declare'), device, id, project: fc.constantFrom('p', 'q', null) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('report'), device, id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove'), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('label'), device, owner: fc.constantFrom<Tenant>('a', 'b') }) },
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

const moved: Command[] = [
  { do: 'declare', device: 'gw/2', id: 'd-1', project: 'p' },
  { do: 'declare', device: 'gw/2', id: 'd-1', project: 'p' },
  { do: 'report', device: 'gw/2', id: 'd-1' },
  { do: 'report', device: 'gw/1', id: 'd-1' },
  { do: 'declare', device: 'gw/1', id: 'd-1', project: 'q' },
]

const page = 'pageInfo { hasPreviousPage hasNextPage }'
const state = `{ deployments(first: 100) { nodes { id deploymentId target { name } rollout { project }
    documents: documentHistory(first: 100) { nodes { digest fromManifestVersion untilManifestVersion } } documentHistory(last: 1) { totalCount ${page} nodes { digest } } } }
  device(deviceId: "gw") { manifestVersion manifests: manifestHistory(first: 100) { nodes { version changes { deploymentId digest } } }
    manifestHistory(last: 1) { totalCount ${page} nodes { version changes { deploymentId digest } } } } }`

interface Place {
  readonly device: string
  readonly project: string | null
}
interface Moment {
  /** Of the gateway's manifest, after the command. */
  readonly version: number
  /** By the deployments' ids. */
  readonly places: ReadonlyMap<string, Place>
}
// biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
type Answered = any

async function play(store: Store, commands: readonly Command[]): Promise<void> {
  let now = Date.now() + 3_600_000
  const api = await startApi({ store, graphql: { auth: namedAuth }, road: { writer: { clock: () => now } } })
  const { writer, database } = api.road
  const owners = new Map<string, Tenant>()
  const moments: Moment[] = []
  const viewers = [
    ...(['a', 'b'] as const).map((tenant) => ({
      name: `viewer/label:${tenant}=yes`,
      sees: (place: Place | undefined) => place !== undefined && owners.get(place.device) === tenant,
    })),
    ...['p', 'q'].map((project) => ({
      name: `viewer/project:${project}`,
      sees: (place: Place | undefined) => place?.project === project,
    })),
  ]

  async function label(name: string, tenants: readonly Tenant[]): Promise<void> {
    const labels = tenants.map((key) => ({ key, value: 'yes' }))
    const more = { name: null, parent: null, expectedInterval: null, tokenHash: crypto.randomUUID() }
    await writer.submit(registerDevices([{ deviceId: name, labels, ...more }]))
    if (tenants.length === 1 && tenants[0]) owners.set(name, tenants[0])
  }

  async function run(next: Command, mark: number): Promise<void> {
    const manifestUpdate = { cause: { caller: 'someone', why: `${mark}` }, bundle }
    switch (next.do) {
      case 'declare': {
        const content = `document ${mark}`
        const document = { content, digest: digestOf(content), size: content.length }
        const declared = { deviceId: next.device, deploymentId: next.id, application: null, applicationVersion: null }
        const rollout = next.project === null ? null : { name: 'r', project: next.project }
        await writer.submit(declareDeployments(rollout, [{ ...declared, components: null, document }], manifestUpdate))
        return
      }
      case 'report':
        await api.report({ reporter: 'gw', deploymentId: next.id, deviceId: next.device, seq: null })
        return
      case 'remove': {
        const keys = await database.session.run<{ key: number }>(
          'select key from deployments where deployment_id = $1 and document_digest is not null',
          [next.id],
        )
        if (keys.length > 0)
          await writer.submit(
            removeDeployments(
              keys.map(({ key }) => key),
              manifestUpdate,
            ),
          )
        return
      }
      case 'label':
        await label(next.device, [next.owner])
    }
  }

  try {
    await label('gw', ['a', 'b'])
    await label('gw/1', ['a'])
    await label('gw/2', ['b'])
    for (const [mark, next] of commands.entries()) {
      now += 1_000
      await run(next, mark).catch((error: unknown) => {
        if (!(error instanceof DomainError)) throw error
      })
      moments.push(momentOf(await api.ask(state)))
    }
    const all: Answered = await api.ask(state)
    for (const viewer of viewers) await expectShown(api, all, viewer)
  } finally {
    await api.close()
  }

  async function expectShown(api: Api, all: Answered, { name, sees }: (typeof viewers)[number]): Promise<void> {
    const shown: Answered = await api.ask(state, {}, name)
    const after = (version: number): number => moments.findIndex((moment) => moment.version >= version)
    const seenAt = (deployment: string, index: number): boolean => sees(moments[index]?.places.get(deployment))
    for (const { id, documents, documentHistory } of shown.deployments.nodes) {
      const whole: Answered = all.deployments.nodes.find((one: Answered) => one.id === id)
      const expected = whole.documents.nodes.flatMap((stay: Answered) => {
        const { untilManifestVersion: until } = stay
        const begin = after(Number(stay.fromManifestVersion))
        const end = until === null ? moments.length : after(Number(until))
        const isSeen = moments.some((_, index) => index >= begin && index < end && seenAt(id, index))
        return isSeen ? [{ ...stay, untilManifestVersion: until !== null && seenAt(id, end - 1) ? until : null }] : []
      })
      expect(documents.nodes).toEqual(expected)
      expect(documentHistory).toEqual(oldestOf(expected.map(({ digest }: Answered) => ({ digest }))))
    }
    if (shown.device === null) return
    const expected = all.device.manifests.nodes.flatMap(({ version, changes }: Answered) => {
      const index = after(Number(version))
      const own = changes.filter(({ deploymentId, digest }: Answered) => {
        const known = all.deployments.nodes.filter((one: Answered) => one.deploymentId === deploymentId)
        return known.some(({ id }: Answered) => seenAt(id, digest === null ? index - 1 : index))
      })
      return own.length > 0 ? [{ version, changes: own }] : []
    })
    expect(shown.device.manifests.nodes).toEqual(expected)
    expect(shown.device.manifestHistory).toEqual(oldestOf(expected))
  }
}

/** The last page, of one row. */
const oldestOf = (all: readonly Answered[]) => ({
  totalCount: all.length,
  pageInfo: { hasPreviousPage: all.length > 1, hasNextPage: false },
  nodes: all.slice(-1),
})

const bundle = (documents: readonly object[]) => {
  const text = JSON.stringify(documents)
  return { digest: digestOf(text), size: text.length }
}

function momentOf({ deployments, device }: Answered): Moment {
  const places = deployments.nodes.map(({ id, target, rollout }: Answered) => [
    id,
    { device: target.name, project: rollout.project },
  ])
  return { version: Number(device?.manifestVersion ?? 1), places: new Map(places) }
}

describe.each(stores)('documents on $name', (store) => {
  it(
    'are shown to who saw their deployment while they were listed, and to no other',
    async () => {
      const commands = fc.array(command, { minLength: 1, maxLength: 14 })
      await fc.assert(
        fc.asyncProperty(commands, (list) => play(store, list)),
        { numRuns: runs, examples: [[moved]], interruptAfterTimeLimit: 240_000 + runs * 20_000 },
      )
    },
    600_000 + runs * 20_000,
  )
})
