/** For each field of a filter, what moves a row into it or out of it. */

import type { DeploymentFilterInput } from '../../src/api/graphql/objects/selectors/deployment-filter.ts'
import type { ResourceFilterInput } from '../../src/api/graphql/objects/selectors/filters.ts'
import { reportConnectivity } from '../../src/ingest/commands/connectivity.ts'
import { retireDevices } from '../../src/ingest/commands/devices/retire.ts'
import { moveMaintenance, planMaintenance } from '../../src/ingest/commands/maintenance.ts'
import { forgetDeployments } from '../../src/ingest/commands/remove.ts'
import { receiveBatch } from '../../src/ingest/commands/sites/receive.ts'
import { registerSite } from '../../src/ingest/commands/sites/register.ts'
import { markStalled } from '../../src/ingest/commands/stall.ts'
import { press, snapshotOf, stateOf } from '../support/site-batches.ts'
import type { Facts } from './filter-facts.ts'

export interface Scenario {
  readonly begin?: (id: string) => Promise<unknown>
  /** After `begin`. */
  readonly filter: (id: string) => object | Promise<object>
  readonly act: (id: string) => Promise<unknown>
}

const longAgo = '2000-01-01T00:00:00Z'
const farAhead = '2200-01-01T00:00:00Z'

/** One for each field, or the types fail. */
type Scenarios<Filter> = { readonly [Field in keyof Required<Filter>]: Scenario }

export function deploymentScenarios(facts: Facts): Scenarios<DeploymentFilterInput> {
  const {
    submit,
    part,
    report,
    failing,
    register,
    rowOf,
    nodeOf,
    wanted,
    document,
    instantiate,
    apply,
    show,
    applied,
    silent,
    capable,
    fullOf,
  } = facts
  const siteOf = (id: string) => ({
    path: `plant of ${id}`,
    name: null,
    labels: null,
    tokenHash: `${id} ${Math.random()}`,
    overlap: 0,
  })
  /** A report makes it match. */
  const reported = (filter: Scenario['filter'], begin?: Scenario['begin']): Scenario => ({
    ...(begin && { begin }),
    filter,
    act: (id) => report(id),
  })

  return {
    ids: {
      begin: (id) => report(id),
      filter: async (id) => ({ ids: [(await nodeOf(id))?.id] }),
      act: async (id) => submit(forgetDeployments((await rowOf(id)).map(({ key }) => key))),
    },
    deploymentIds: reported((id) => ({ deploymentIds: [id] })),
    deviceIds: {
      begin: (id) => report(id, { deviceId: `${id}/one` }),
      filter: (id) => ({ deviceIds: [`${id}/one`] }),
      act: (id) => report(id, { deviceId: `${id}/two` }),
    },
    clusters: { begin: instantiate, filter: (id) => ({ clusters: [`p+cluster ${id}`] }), act: (id) => apply(id) },
    sites: {
      begin: (id) => submit(registerSite(siteOf(id))),
      filter: (id) => ({ sites: [siteOf(id).path] }),
      async act(id) {
        const { path } = siteOf(id)
        const { key } = await submit(registerSite(siteOf(id)))
        return submit(receiveBatch({ key, path }, snapshotOf([stateOf(8, id)], { targets: [press] })))
      },
    },
    reporters: reported((id) => ({ reporters: [id] })),
    rolloutIds: {
      begin: (id) => report(id),
      filter: async (id) => ({ rolloutIds: [(await nodeOf(id))?.rollout.id] }),
      act: (id) => wanted(id, '1'),
    },
    instanceIds: { begin: instantiate, filter: (id) => ({ instanceIds: [id] }), act: (id) => apply(id) },
    applications: {
      begin: (id) => wanted(id, '1'),
      filter: (id) => ({ applications: [`app of ${id}`] }),
      act: (id) => wanted(id, '1', 'another'),
    },
    applicationVersions: {
      begin: (id) => wanted(id, `1 of ${id}`),
      filter: (id) => ({ applicationVersions: [`1 of ${id}`] }),
      act: (id) => wanted(id, '2'),
    },
    states: {
      begin: (id) => report(id, { state: 'INSTALLING' }),
      filter: (id) => ({ states: ['INSTALLING'], reporters: [id] }),
      act: (id) => report(id),
    },
    derivedStates: {
      begin: (id) => report(id),
      filter: (id) => ({ derivedStates: ['FAILED'], reporters: [id] }),
      act: (id) => report(id, { components: [part(id, 'FAILED')] }),
    },
    convergence: {
      async begin(id) {
        await document(id, '1')
        await report(id, { adoptedManifestVersion: '2' })
      },
      filter: (id) => ({ convergence: ['CONVERGED'], reporters: [id] }),
      act: (id) => document(id, '2'),
    },
    readiness: {
      begin: applied,
      filter: (id) => ({ readiness: ['FAILED'], instanceIds: [id] }),
      act: (id) => show(id),
    },
    components: {
      begin: (id) => report(id, { components: [] }),
      filter: (id) => ({ components: [`part of ${id}`] }),
      act: (id) => report(id),
    },
    errorCodes: { begin: (id) => report(id), filter: (id) => ({ errorCodes: [id] }), act: failing },
    labels: reported(
      (id) => ({ labels: [{ key: 'of', value: id }] }),
      (id) => register(id),
    ),
    label: reported(
      (id) => ({ label: { key: 'of', equals: id } }),
      (id) => register(id),
    ),
    connectivity: {
      async begin(id) {
        await register(id)
        await report(id)
      },
      filter: (id) => ({ connectivity: ['OFFLINE'], where: { reporters: [id] } }),
      act: silent,
    },
    inMaintenance: {
      begin: (id) => report(id),
      filter: (id) => ({ inMaintenance: true, where: { reporters: [id] } }),
      async act(id) {
        const selector = { given: {}, filter: { deviceIds: [id] } }
        const times = { beginsAt: 0, endsAt: 4e12, repeat: null, timeZone: 'UTC' }
        const { key: windowKey } = await submit(planMaintenance({ ...times, reason: 'a test', selector }, 'a test'))
        await submit(moveMaintenance([{ target: { kind: 'DEVICE', provider: '', name: id }, windowKey }]))
      },
    },
    lastHeardBefore: reported((id) => ({ lastHeardBefore: farAhead, reporters: [id] })),
    lastHeardAfter: reported((id) => ({ lastHeardAfter: longAgo, reporters: [id] })),
    vendors: reported((id) => ({ vendors: [id] }), capable),
    models: reported((id) => ({ models: [id] }), capable),
    consistent: {
      begin: (id) => report(id),
      filter: (id) => ({ consistent: false, reporters: [id] }),
      act: (id) => report(id, { components: [part(id, 'FAILED')] }),
    },
    stalled: {
      begin: (id) => report(id, { state: 'INSTALLING' }),
      filter: (id) => ({ stalled: true, reporters: [id] }),
      act: async (id) => submit(markStalled(await rowOf(id))),
    },
    hasError: { begin: (id) => report(id), filter: (id) => ({ hasError: true, reporters: [id] }), act: failing },
    text: { begin: (id) => report(id), filter: (id) => ({ text: `full of ${id}` }), act: fullOf },
    changedAfter: reported((id) => ({ changedAfter: longAgo, reporters: [id] })),
    changedBefore: reported((id) => ({ changedBefore: farAhead, reporters: [id] })),
    // The reporter is registered again, so what it reported of another device is no longer closed with it.
    retired: {
      async begin(id) {
        await report(id, { deviceId: `${id}/one` })
        await register(`${id}/one`, `other ${id}`)
        const manifestUpdate = {
          cause: { caller: 'a test', why: 'scrapped' },
          bundle: () => ({ digest: 'sha256:0', size: 0 }),
        } as const
        await submit(
          retireDevices([{ deviceId: id, replacedBy: null }], {
            reason: 'scrapped',
            withChildren: false,
            manifestUpdate,
          }),
        )
      },
      filter: (id) => ({ retired: true, deviceIds: [`${id}/one`] }),
      act: (id) => register(id),
    },
    group: {
      begin: (id) => report(id, { components: [] }),
      filter: (id) => ({ group: { by: 'COMPONENT', key: `part of ${id}` } }),
      act: (id) => report(id),
    },
    where: {
      begin: (id) => report(id),
      filter: (id) => ({ where: { not: { or: [{ states: ['INSTALLED'] }, { not: { reporters: [id] } }] } } }),
      act: (id) => report(id, { state: 'FAILED' }),
    },
  }
}

export function resourceScenarios(facts: Facts): Scenarios<ResourceFilterInput> {
  const { submit, rolloutOf, resourceOf, clusterOf, instantiate, apply, show, applied } = facts
  const shown = (filter: (id: string) => object): Scenario => ({ begin: applied, filter, act: (id) => show(id) })
  const appears = (filter: (id: string) => object): Scenario => ({ begin: instantiate, filter, act: (id) => apply(id) })

  return {
    ids: {
      begin: applied,
      filter: async (id) => ({ ids: [await resourceOf(id)], presence: ['PRESENT'] }),
      act: (id) => show(id),
    },
    rolloutIds: {
      begin: applied,
      filter: async (id) => ({ rolloutIds: [await rolloutOf(id)], sync: ['APPLIED'] }),
      act: (id) => apply(id, 'APPLIED'),
    },
    deploymentIds: appears((id) => ({ deploymentIds: [id] })),
    apps: appears((id) => ({ apps: [`app ${id}`] })),
    clusters: appears((id) => ({ clusters: [`p+cluster ${id}`] })),
    labels: appears((id) => ({ where: { not: { labels: [{ key: 'of', value: id }] } } })),
    label: appears(() => ({ label: { key: 'of', exists: false } })),
    connectivity: {
      begin: applied,
      filter: (id) => ({ connectivity: ['OFFLINE'], apps: [`app ${id}`] }),
      act: (id) => submit(reportConnectivity(clusterOf(id), 'OFFLINE')),
    },
    names: appears((id) => ({ names: [`object ${id}`] })),
    groups: appears((id) => ({ groups: [''], names: [`object ${id}`] })),
    kinds: appears((id) => ({ kinds: [`Kind${id}`] })),
    namespaces: appears((id) => ({ namespaces: [`space ${id}`] })),
    sync: {
      begin: applied,
      filter: (id) => ({ sync: ['APPLIED'], apps: [`app ${id}`] }),
      act: (id) => apply(id, 'APPLIED'),
    },
    presence: shown((id) => ({ presence: ['PRESENT'], apps: [`app ${id}`] })),
    readiness: shown((id) => ({ readiness: ['FAILED'], apps: [`app ${id}`] })),
    reasons: {
      async begin(id) {
        await applied(id)
        await show(id)
      },
      filter: (id) => ({ reasons: ['OOMKilled'], apps: [`app ${id}`] }),
      act: (id) => show(id, 'OOMKilled'),
    },
    text: shown((id) => ({ text: `because ${id}` })),
    changedAfter: appears((id) => ({ changedAfter: longAgo, apps: [`app ${id}`] })),
    changedBefore: appears((id) => ({ changedBefore: farAhead, apps: [`app ${id}`] })),
    instanceIds: appears((id) => ({ instanceIds: [id] })),
    where: {
      begin: applied,
      filter: (id) => ({ where: { and: [{ apps: [`app ${id}`] }, { not: { connectivity: ['UNKNOWN'] } }] } }),
      act: (id) => submit(reportConnectivity(clusterOf(id), 'ONLINE')),
    },
  }
}
