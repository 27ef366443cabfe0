/** `rollcall get` and `rollcall counts`: the present state. */
import { type Details, detailNames } from '../../domain/nouns/deployment.ts'
import type { Api } from './api.ts'
import { type Output, printList } from './list.ts'
import {
  deploymentFilter,
  NotThereError,
  type RolloutKey,
  rolloutFilter,
  rolloutNotThere,
  type Selection,
} from './selection.ts'
import {
  type CountData,
  type Counts,
  changeFields,
  countFields,
  deploymentFields,
  deploymentHead,
  deploymentRow,
  describeChange,
  describeConvergence,
  describeCounts,
  describeError,
  describeLabels,
  jsonLine,
  readCounts,
  type ShownChange,
  type ShownDeployment,
  type ShownLabel,
} from './show.ts'
import { inStateColour, type Terminal, table } from './terminal.ts'

export async function getDeployments(api: Api, output: Output, selection: Selection, limit: number): Promise<void> {
  const list = {
    of: 'deployments',
    filter: ['DeploymentFilter', await deploymentFilter(api, selection)],
    fields: deploymentFields,
    head: deploymentHead,
    row: (node: ShownDeployment) => deploymentRow(output.terminal, node),
  } as const
  await printList(api, output, list, limit)
}

interface ShownRollout {
  readonly name: string
  readonly project: string | null
  readonly kind: string
  readonly labels: readonly ShownLabel[]
  readonly deploymentCounts: CountData
  readonly leftOut: {
    readonly nodes: readonly { readonly key: string | null; readonly counts: { readonly total: number } }[]
  }
}

const rolloutFields = `id kind name project compositeApp compositeAppVersion provider labels { key value } deploymentCounts { ${countFields} }
  leftOut: deploymentGroups(by: RETIREMENT, filter: { retired: true }, first: 10) { nodes { key counts { total } } }`

/** What the counts do not have, because its device was retired, and why. */
function describeLeftOut({ nodes }: ShownRollout['leftOut']): string {
  const parts = nodes.map(({ key, counts }) => `${counts.total} of retired devices (${key ?? 'its gateway'})`)
  return parts.length === 0 ? '' : `; left out: ${parts.join(', ')}`
}

export function getRollouts(api: Api, output: Output, selection: Selection, limit: number): Promise<void> {
  const list = {
    of: 'rollouts',
    filter: ['RolloutFilter', rolloutFilter(selection)],
    fields: rolloutFields,
    head: ['ROLLOUT', 'PROJECT', 'KIND', 'DEPLOYMENTS', 'LABELS'],
    row: ({ name, project, kind, labels, deploymentCounts, leftOut }: ShownRollout) => [
      name,
      project ?? '-',
      kind,
      describeCounts(output.terminal, readCounts(deploymentCounts)) + describeLeftOut(leftOut),
      describeLabels(labels) || '-',
    ],
  } as const
  return printList(api, output, list, limit)
}

export async function getRollout(api: Api, { terminal, isJson }: Output, key: RolloutKey) {
  const { rollout } = await api.ask<{ rollout: ShownRollout | null }>(
    `query Get($key: RolloutKey!) { rollout(key: $key) { ${rolloutFields} readiness state status } }`,
    { key },
  )
  if (!rollout) throw await rolloutNotThere(api, key)
  if (isJson) terminal.write(jsonLine(rollout))
  else {
    const labels = describeLabels(rollout.labels)
    const counts = describeCounts(terminal, readCounts(rollout.deploymentCounts)) + describeLeftOut(rollout.leftOut)
    terminal.write(`${[rollout.name, ...(labels === '' ? [] : [labels]), counts].join('\n')}\n`)
  }
}

interface OneDeployment extends Omit<ShownDeployment, 'components'>, Details {
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly attempt: number
  readonly rollout: { readonly name: string }
  readonly components: readonly (ShownDeployment['components'][number] & { readonly error: ShownDeployment['error'] })[]
  readonly history: { readonly nodes: readonly ShownChange[] }
}

export async function getDeployment(
  api: Api,
  { terminal, isJson }: Output,
  deploymentId: string,
  deviceId: string | null,
): Promise<void> {
  const { deployment } = await api.ask<{ deployment: OneDeployment | null }>(
    `query Get($deploymentId: String!, $deviceId: String) {
      deployment(deploymentId: $deploymentId, deviceId: $deviceId) {
        ${deploymentFields.replace('components { name state }', '')}
        application applicationVersion attempt ${detailNames.join(' ')} derivedState consistent readiness reportedAt receivedAt
        rollout { name }
        components { name state error { code message source } }
        history(last: 10) { nodes { ${changeFields} } }
      }
    }`,
    { deploymentId, deviceId },
  )
  if (!deployment)
    throw new NotThereError(`deployment not found: ${deploymentId}${deviceId === null ? '' : ` on ${deviceId}`}`)
  terminal.write(isJson ? jsonLine(deployment) : `${describe(terminal, deployment).join('\n')}\n`)
}

function describe(terminal: Terminal, deployment: OneDeployment): string[] {
  const { target, state, stalled, error, attempt, application, applicationVersion, rollout, components, history } =
    deployment
  const facts = [
    ['deployment', deployment.deploymentId],
    ['on', target.name],
    ['rollout', rollout.name],
    ['application', [application, applicationVersion].filter(Boolean).join(' ')],
    [
      'state',
      `${inStateColour(terminal, state, state)}${stalled ? ' stalled' : ''}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
    ],
    ['convergence', describeConvergence(terminal, deployment)],
    ['error', describeError(error)],
    // As words: `failureStage` is "failure stage".
    ...detailNames.map((name) => [
      name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
      deployment[name] ?? '',
    ]),
  ].filter(([, value]) => value !== '' && value !== '-')
  const parts = components.map((c) => [c.name, inStateColour(terminal, c.state, c.state), describeError(c.error)])
  return [...table(facts), '', ...table(parts), '', ...history.nodes.map((change) => describeChange(terminal, change))]
}

export async function getCounts(api: Api, { terminal, isJson }: Output, selection: Selection): Promise<void> {
  const { deploymentCounts, revision } = await api.ask<{ deploymentCounts: CountData; revision: string }>(
    `query Count($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { ${countFields} } revision }`,
    { filter: await deploymentFilter(api, selection) },
  )
  const counts: Counts = readCounts(deploymentCounts)
  terminal.write(isJson ? jsonLine({ ...deploymentCounts, revision }) : `${describeCounts(terminal, counts)}\n`)
}
