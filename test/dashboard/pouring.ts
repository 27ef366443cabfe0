/** A fleet of which everything changes with each round of reports. */
import { beforeAll } from 'vitest'
import { declare, documentOf } from '../support/clients/desired.ts'
import { isDeep } from '../support/runner/depth.ts'
import { type Emco, newContext, newGroup, shownDeployment } from '../support/systems/emco.ts'
import { send, useDashboard } from './harness.ts'

/** Narrow and wide, and in the deep suite all for which the style sheet has rules. */
export const widths = isDeep ? [1440, 768, 375] : [1440, 375]
const fleet = Array.from({ length: 12 }, (_, index) => ({ deviceId: `oven-${index}`, deploymentId: `vision-${index}` }))
const states = ['installing', 'failed', 'installed', 'pending'] as const

const diskFull = { code: '507', message: 'disk full' }

export function usePouringFleet() {
  const { server, open, visit } = useDashboard()
  let emco: Emco
  const context = newContext()
  /** Identifiers that addresses contain. */
  const ids: Record<string, string> = { CONTEXT: context }
  let turn = 0

  beforeAll(async () => {
    const { declareDeployments } = await server().query(
      `mutation ($devices: [DeviceInput!]!, $deployments: [DeploymentDeclaration!]!) {
        registerDevices(input: { devices: $devices }) { __typename }
        saveAlertRule(input: { name: "never", metric: FAILED, threshold: 1000 }) { __typename }
        declareDeployments(input: { rollout: { name: "vision" }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } }
        }
      }`,
      {
        devices: fleet.map(({ deviceId }) => ({ deviceId, labels: [{ key: 'site', value: 'munich' }] })),
        deployments: fleet,
      },
    )
    ids.ROLLOUT = declareDeployments.rollout.id
    emco = newGroup(server())
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(
      context,
      ['p+bonn', 'p+kiel'].map((cluster) => ({ name: 'sink', cluster })),
    )
    // It stays, so that the group always has a cause: the first one moves what is below.
    await emco.show(context, { deploymentStatuses: [brokenDeployment('sink')] }, { cluster: 'p+kiel' })
    await pour(8)
    // With the one of useDashboard, the marker's cause has three and more: a new line, or “deployments” instead of “deployment”, moves what is beside it.
    for (const id of ['full-1', 'full-2']) await send(server().url, 'edge-2', id, 'failed', diskFull)
    await send(server().url, 'edge-2', 'marker', 'installed')
    const { resources } = await server().query('{ resources { nodes { id instance { rollout { id } } } } }')
    ids.RESOURCE = resources.nodes[0].id
    ids.GROUP = resources.nodes[0].instance.rollout.id
    await declare(
      server(),
      [{ deviceId: 'oven-0', deploymentId: 'meant', document: documentOf('meant', '1') }],
      'the first version',
    )
  })

  const addressOf = (address: string): string => address.replace(/[A-Z]+$/, (name) => ids[name] ?? name)

  /** Every deployment of a device changes in each round, and one of a cluster. Those that fail or wait have a reason, and the others have none. */
  async function pour(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      turn += 1
      const sink = turn % 2 === 0 ? shownDeployment('sink') : brokenDeployment('sink')
      await emco.show(context, { deploymentStatuses: [sink] }, { cluster: 'p+bonn' })
      await Promise.all(
        fleet.map(({ deviceId, deploymentId }, index) => {
          const state = states[(index + turn) % states.length] ?? ''
          const hasReason = ['failed', 'pending'].includes(state)
          const error = hasReason ? { code: `E${index % 2}`, message: 'the disk is full' } : null
          const components = [{ name: 'web', state, ...(error && { error }) }]
          return send(server().url, deviceId, deploymentId, state, error, undefined, components)
        }),
      )
    }
  }

  let isMarked = false
  /** Changes how many deployments are failed. Returns the new number. */
  async function mark(): Promise<number> {
    isMarked = !isMarked
    await send(server().url, 'edge-2', 'marker', isMarked ? 'failed' : 'installed', isMarked ? diskFull : null)
    return (await server().query('{ deploymentCounts { failed } }')).deploymentCounts.failed
  }

  return { server, open, visit, ids, addressOf, pour, mark }
}

/** Its resource is FAILED. */
const brokenDeployment = (name: string): object => ({
  ...shownDeployment(name, false),
  status: {
    conditions: [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'It took more than 600 s.' },
    ],
  },
})
