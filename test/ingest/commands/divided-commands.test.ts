/** A command of thousands of items is one transaction in parts: the rows of one part are in memory, and all parts are committed or none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Command } from '../../../src/ingest/command.ts'
import { partSize } from '../../../src/ingest/command-parts.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import type { DeploymentDeclaration } from '../../../src/ingest/commands/declared-documents.ts'
import { type DeviceRegistration, registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../../src/ingest/commands/devices/retire.ts'
import { forgetDeployments, removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import type { Road } from '../../support/servers/road.ts'
import { manifestUpdate } from './desired-model.ts'
import { createWatchedRoad, type WatchedRoad } from './watched-road.ts'

const count = 2 * partSize + 7
const declaration = (deviceId: string, deploymentId: string, text?: string): DeploymentDeclaration => ({
  ...{ deviceId, deploymentId, application: null, applicationVersion: null, components: null },
  ...(text !== undefined && { document: { content: text, digest: digestOf(text), size: text.length } }),
})
const registration = (deviceId: string, more: Partial<DeviceRegistration> = {}): DeviceRegistration => ({
  ...{ deviceId, name: null, labels: null, parent: null, expectedInterval: null, tokenHash: `of ${deviceId}`, ...more },
})
const retirement = (deviceId: string, replacedBy: string | null = null) => ({ deviceId, replacedBy })
const scrapped = { reason: 'x', withChildren: true, manifestUpdate }
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

describe.each(stores)('divided commands on $name', (store) => {
  let empty: EmptyStore
  let road: Road
  let largest: WatchedRoad['largest']
  let largestHeld: WatchedRoad['largestHeld']
  beforeAll(async () => {
    empty = await store.create()
    const watched = await createWatchedRoad(empty)
    road = watched.road
    ;({ largest, largestHeld } = watched)
  })
  afterAll(async () => {
    expect(await audit(road.database.session)).toEqual([])
    await road.close()
    await empty.drop()
  })
  const submit = <Result>(command: Command<Result>): Promise<Result> => road.writer.submit(command)
  const head = async () => (await readHead(road.database.session)).revision
  const device = (name: string) => targetByName(road.database.session, 'DEVICE', '', name)
  const rowsOf = <Row extends object>(text: string) => road.database.session.run<Row>(text)

  it('hold the rows of one part, for any number of items', async () => {
    const declare = (prefix: string, items: number) =>
      submit(declareDeployments(null, many((n) => declaration(`${prefix}${n}`, 'x')).slice(0, items)))
    const register = (prefix: string, items: number) =>
      submit(registerDevices(many((n) => registration(`${prefix}${n}`)).slice(0, items)))
    const desireOn = (prefix: string, items: number) =>
      submit(
        declareDeployments(
          null,
          many((n) => declaration(`${prefix}${n}`, 'y', 'text')).slice(0, items),
          manifestUpdate,
        ),
      )
    const remove = (_: string, items: number, { deploymentKeys }: { readonly deploymentKeys: readonly number[] }) =>
      submit(removeDeployments(deploymentKeys.slice(0, items), manifestUpdate))
    const retire = (prefix: string, items: number) =>
      submit(retireDevices(many((n) => retirement(`${prefix}${n}`)).slice(0, items), scrapped))
    const gatewayOf = (prefix: string) => `${prefix}0`
    const registerBehind = async (prefix: string, items: number) => {
      const behind = many((n) => registration(`${prefix}${n}`, { parent: n === 0 ? null : gatewayOf(prefix) }))
      await submit(registerDevices(behind.slice(0, items)))
      return { deploymentKeys: [] }
    }
    const retireBehind = async (prefix: string, items: number) => {
      const { results } = await submit(retireDevices([retirement(gatewayOf(prefix))], scrapped))
      expect(results).toMatchObject([{ isChanged: true, children: items - 1, deployments: 0 }])
    }
    for (const [write, prefix, prepare] of [
      [declare, 'd', null],
      [register, 'r', null],
      [remove, 'w', desireOn],
      [retire, 'e', desireOn],
      [retireBehind, 'g', registerBehind],
    ] as const) {
      const sizes: number[] = []
      for (const [name, items] of [
        [`${prefix}-a-`, partSize],
        [`${prefix}-b-`, count],
      ] as const) {
        const prepared = prepare ? await prepare(name, items) : { deploymentKeys: [] }
        sizes.push(await largest(() => write(name, items, prepared)))
      }
      const [ofOnePart = 0, ofMany] = sizes
      expect(ofMany).toBeLessThan(1.1 * ofOnePart)
    }
  })

  it('load few of the deployments that have one name on one device', async () => {
    const error = { code: 'E', message: 'x'.repeat(20_000), source: '' }
    for (let n = 0; n < 10; n++)
      await submit(recordReport(report({ reporter: `s-${n}`, deviceId: 'shared', deploymentId: 's', error })))
    const held = await largestHeld(async () => {
      const { deploymentKeys } = await submit(declareDeployments(null, [declaration('shared', 's')]))
      expect(await rowsOf(`select key from deployments where reporter = 's-0'`)).toEqual([{ key: deploymentKeys[0] }])
    })
    expect(held).toBeLessThan(5 * error.message.length)
  })

  it('answer in the order of their items, with a revision for each change, and reach subscribers', async () => {
    const before = await head()
    const followed = road.changes({ filter: {}, after: before })
    const items = many((n) => declaration(`o-${n % 3}`, `o-${n}`))
    const { deploymentKeys, revision, rolloutKey } = await submit(
      declareDeployments({ name: 'of parts', project: null }, items),
    )
    const stored = await rowsOf<{ key: number; id: string }>(
      `select key, deployment_id as id from deployments where rollout_key = ${rolloutKey}`,
    )
    expect(new Map(stored.map(({ id, key }) => [id, key]))).toEqual(
      new Map(items.map(({ deploymentId }, n) => [deploymentId, deploymentKeys[n]])),
    )
    expect(revision).toBe(await head())
    const changes = await readLog(road.database.session, before, 2 * count)
    expect(changes.map((one) => one.revision)).toEqual(many((n) => before + n + 1))
    for (const change of changes) {
      const { value } = await followed.next()
      expect(value).toMatchObject({ change: { revision: change.revision } })
    }
    await followed.return?.()
    expect(await submit(forgetDeployments(deploymentKeys))).toEqual({ revision: revision + count })
  })

  it('make one version of each manifest, wherever its documents are in the list', async () => {
    const items = many((n) => declaration(`m-${n % 5}`, `m-${n}`, `text ${n % 7}`))
    await submit(declareDeployments(null, items, manifestUpdate))
    const versions = await rowsOf<{ name: string; n: number; entries: number }>(
      `select t.name, count(*)::int as n, (select count(*)::int from manifest_entries e where e.target_key = t.key) as entries
        from manifests m join targets t on t.key = m.target_key where t.name like 'm-%' group by t.key, t.name`,
    )
    expect(versions).toHaveLength(5)
    for (const { n } of versions) expect(n).toBe(1)
    expect(versions.reduce((sum, { entries }) => sum + entries, 0)).toBe(count)
  })

  it('withdraw documents with one version of each manifest, and retire devices and gateways in any part', async () => {
    const place = (n: number) => `t-${n % 5}/c-${n}`
    const { deploymentKeys } = await submit(
      declareDeployments(
        null,
        many((n) => declaration(place(n), `t-${n}`, 'text')),
        manifestUpdate,
      ),
    )
    const manifests = () =>
      rowsOf(`select t.name, count(*)::int as versions,
          (select count(*)::int from manifest_entries e where e.target_key = t.key and e.until is null) as listed
        from manifests m join targets t on t.key = m.target_key where t.name like 't-_' group by t.key, t.name order by t.name`)
    const expected = (versions: number, listed: (owner: number) => number) =>
      Array.from({ length: 5 }, (_, owner) => ({ name: `t-${owner}`, versions, listed: listed(owner) }))
    const perOwner = (from: number, owner: number) => many((n) => n).filter((n) => n >= from && n % 5 === owner).length
    // A tenth stays, so that retirement has documents to withdraw.
    const kept = Math.floor(count / 10)
    await submit(removeDeployments(deploymentKeys.slice(kept), manifestUpdate))
    expect(await manifests()).toEqual(expected(2, (owner) => perOwner(0, owner) - perOwner(kept, owner)))
    // Every gateway but the last is named after its children, with one child that is not named.
    const devices = [...many(place).slice(5), 't-0', 't-1', 't-2', 't-3']
    const { results } = await submit(
      retireDevices(
        devices.map((name) => retirement(name)),
        scrapped,
      ),
    )
    expect(await Promise.all(devices.map(async (name) => (await device(name))?.key))).toEqual(
      results.map(({ key }) => key),
    )
    expect(results.map(({ children }) => children)).toEqual([...devices.slice(4).map(() => 0), 1, 1, 1, 1])
    expect(results.reduce((sum, { deployments }) => sum + deployments, 0)).toBe(count - 1)
    expect(await manifests()).toEqual(expected(3, (owner) => (owner === 4 ? 1 : 0)))
    expect((await device('t-4'))?.retiredAt).toBeNull()
  })

  it('are refused as a whole by an item of a later part, which is named by its place', async () => {
    await submit(registerDevices([registration('gone'), registration('held', { spiffeIds: ['spiffe://x/held'] })]))
    await submit(
      retireDevices([{ deviceId: 'gone', replacedBy: null }], { reason: 'x', withChildren: false, manifestUpdate }),
    )
    const last = count - 1
    const { deploymentKeys: documented } = await submit(
      declareDeployments(null, many((n) => declaration(`q-${n}`, 'x', 'text')).slice(0, last), manifestUpdate),
    )
    const [plain = 0] = (await submit(declareDeployments(null, [declaration('q-plain', 'x')]))).deploymentKeys
    await submit(registerDevices([registration('q-spare'), registration('q-gateway'), registration('q-gateway/spare')]))
    const leaving = (name: string, first: string | null = null) =>
      many((n) => retirement(n === last ? name : `q-${n}`, n === 0 ? first : null))
    const before = [await head(), await rowsOf('select count(*) from targets')]
    const one = (n: number) => (n === last ? 'gone' : `n-${n}`)
    const refusals = [
      [
        declareDeployments(
          null,
          many((n) => declaration(one(n), 'x')),
        ),
        `deployments[${last}].deviceId`,
      ],
      [
        registerDevices(many((n) => registration(`n-${n}`, n === last ? { spiffeIds: ['spiffe://x/held'] } : {}))),
        `devices[${last}].spiffeIds`,
      ],
      [
        registerDevices(many((n) => registration(`n-${n}`, n === last ? { parent: 'gone' } : {}))),
        `devices[${last}].parent`,
      ],
      [
        registerDevices(many((n) => registration(`n-${n}`, { parent: `n-${(n + 1) % count}` }))),
        expect.stringMatching(/^devices\[\d+\]\.parent$/),
      ],
      [forgetDeployments(many((n) => -n - 1)), 'ids[0]'],
      [removeDeployments([...documented, plain], manifestUpdate), `ids[${last}]`],
      [retireDevices(leaving('missing'), scrapped), `devices[${last}].deviceId`],
      // The replacement of the first device retires in the last part: by name, and behind another.
      [retireDevices(leaving('q-spare', 'q-spare'), scrapped), 'devices[0].replacedBy'],
      [retireDevices(leaving('q-gateway', 'q-gateway/spare'), scrapped), 'devices[0].replacedBy'],
    ] as const
    for (const [command, field] of refusals) {
      const refused = await submit<unknown>(command).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(DomainError)
      expect(refused).toMatchObject({ problems: [{ field }] })
      expect([await head(), await rowsOf('select count(*) from targets')]).toEqual(before)
    }
    expect(await device('n-0')).toBeNull()
    await submit(declareDeployments(null, [declaration('n-0', 'x')]))
  })

  it('are written between the commands before and after them', async () => {
    const order: string[] = []
    const small = (name: string) =>
      submit(declareDeployments(null, [declaration(name, 'w')])).then(({ revision }) =>
        order.push(`${name} ${revision}`),
      )
    const before = await head()
    const large = submit(
      declareDeployments(
        null,
        many((n) => declaration(`w-${n}`, 'w')),
      ),
    ).then(({ revision }) => order.push(`large ${revision}`))
    await Promise.all([small('w-before'), large, small('w-after')])
    expect(order).toContain(`large ${before + count}`)
    expect(order).toContain(`w-before ${before + count + 1}`)
    expect(order).toContain(`w-after ${before + count + 2}`)
  })
})
