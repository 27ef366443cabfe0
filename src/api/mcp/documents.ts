/** The documents of the tools. A server that executes only listed documents adds them to its list. */

const counts = 'total installed installing failed pending removing removed stalled'

const error = 'error { code message source }'

/** A device is asked for by its ID, and may have another name. */
const target = 'target { name ... on Device { deviceId } }'

/** As tell.ts says it. */
const change = `__typename revision at
    ... on DeploymentChange { deploymentId device { deviceId } }
    ... on DeploymentStateChanged { from to attempt ${error} }
    ... on ComponentStateChanged { component from to ${error} }
    ... on ComponentRemoved { component }
    ... on DeploymentMoved { toTarget { name } }
    ... on DeploymentStalled { stalled }
    ... on ConvergenceChanged { fromConvergence toConvergence }
    ... on ConnectivityChanged { fromConnectivity toConnectivity ${target} }
    ... on DeviceRetired { reason target: device { name deviceId } }
    ... on DeviceReinstated { target: device { name deviceId } }
    ... on MaintenanceStarted { reason ${target} }
    ... on MaintenanceEnded { ${target} }
    ... on MaintenancePlanned { reason }
    ... on AlertRaised { alert { rule } }
    ... on AlertResolved { alert { rule } }
    ... on AlertAcknowledged { alert { rule } comment }
    ... on InstanceStatusChanged { fromStatus toStatus }
    ... on LifecycleActionRecorded { action { state } rollout { name } }`

const causes = 'totalCount nodes { key detail components since counts { total } }'
const alerts = 'totalCount nodes { id rule severity summary raisedAt rollout { name } acknowledgement { by } }'

export const findRollouts = `query AssistantFindRollouts($filter: RolloutFilter!, $hasEarlier: Boolean!) {
  rollouts(filter: $filter, first: 6) { nodes { id name project kind earlier @include(if: $hasEarlier) { id name } } }
}`

export const whatIsWrong = `query AssistantWhatIsWrong($rolloutIds: [ID!], $site: String!, $first: Int!) {
  revision
  counts: deploymentCounts(filter: { rolloutIds: $rolloutIds }) { ${counts} }
  devices: deviceCounts(filter: { rolloutIds: $rolloutIds }) { total online offline }
  alerts(filter: { states: [FIRING], rolloutIds: $rolloutIds }, first: $first) { ${alerts} }
  causes: deploymentGroups(by: ERROR, filter: { states: [FAILED], rolloutIds: $rolloutIds }, first: $first) { ${causes} }
  stalled: deployments(filter: { stalled: true, rolloutIds: $rolloutIds }, first: $first) {
    totalCount nodes { deploymentId ${target} state stall { since component } }
  }
  silent: deploymentGroups(by: LABEL, labelKey: $site, filter: { connectivity: [OFFLINE], rolloutIds: $rolloutIds }, first: $first) {
    totalCount nodes { key since counts { total } }
  }
}`

export const rollout = `query AssistantRollout($id: ID!, $first: Int!, $compared: [ID!]!, $isCompared: Boolean!) {
  revision
  comparison: compareRollouts(ids: $compared) @include(if: $isCompared) { isWorse pValue summary }
  rollout(id: $id) {
    id name project kind state status readiness convergence startedAt finishedAt
    counts: deploymentCounts { ${counts} }
    eta { at low high percent reason }
    alerts(filter: { states: [FIRING] }, first: $first) { ${alerts} }
    causes: deploymentGroups(by: ERROR, filter: { states: [FAILED] }, first: $first) { ${causes} }
    diagnosis { examined problems { problem count share causes { summary count pValue } } }
  }
}`

const deploymentFields = `id deploymentId state derivedState consistent readiness convergence attempt application applicationVersion
    changedAt receivedAt ${target} rollout { id name } ${error} stall { since component basis }`

export const deployment = `query AssistantDeployment($deploymentId: String!, $deviceId: String, $asOf: DateTime, $first: Int!) {
  revision
  deployment(deploymentId: $deploymentId, deviceId: $deviceId, asOf: $asOf) {
    ${deploymentFields}
    components { name state changedAt ${error} }
    history(last: $first) { totalCount nodes { ${change} } }
  }
}`

export const device = `query AssistantDevice($deviceId: String!, $asOf: DateTime, $first: Int!) {
  revision
  device(deviceId: $deviceId, asOf: $asOf) {
    id deviceId connectivity lastHeardAt registered labels { key value }
    parent { deviceId } maintenance { reason until } retirement { at reason }
    counts: deploymentCounts { ${counts} }
    deployments(first: $first, orderBy: CHANGED_DESC) { totalCount nodes { deploymentId state changedAt ${error} } }
  }
  history: changes(filter: { deviceIds: [$deviceId] }, last: $first) { nodes { ${change} } pageInfo { hasPreviousPage } }
}`

export const search = `query AssistantSearch($text: String!, $kinds: [SearchKind!], $first: Int!) {
  revision
  search(text: $text, kinds: $kinds, first: $first) {
    kind match name
    node { id ... on Deployment { deploymentId state ${target} } ... on Device { deviceId connectivity } }
  }
}`

export const moments = `query AssistantMoments($from: DateTime!, $to: DateTime!) {
  from: revisionAt(time: $from) to: revisionAt(time: $to)
}`

export const changesBetween = `query AssistantChangesBetween($from: Revision!, $to: Revision!, $after: Revision!, $before: Revision!, $rolloutIds: [ID!], $filter: ChangeFilter!, $first: Int!) {
  from: deploymentCounts(atRevision: $from, filter: { rolloutIds: $rolloutIds }) { ${counts} }
  to: deploymentCounts(atRevision: $to, filter: { rolloutIds: $rolloutIds }) { ${counts} }
  changes(after: $after, before: $before, filter: $filter, last: $first) { nodes { ${change} } pageInfo { hasPreviousPage } }
}`

export const stateAt = `query AssistantStateAt($asOf: DateTime!, $rolloutIds: [ID!], $first: Int!) {
  revision: revisionAt(time: $asOf)
  counts: deploymentCounts(asOf: $asOf, filter: { rolloutIds: $rolloutIds }) { ${counts} }
  alerts(asOf: $asOf, filter: { states: [FIRING], rolloutIds: $rolloutIds }, first: $first) { ${alerts} }
  causes: deploymentGroups(by: ERROR, asOf: $asOf, filter: { states: [FAILED], rolloutIds: $rolloutIds }, first: $first) { ${causes} }
}`

export const waiting = `subscription AssistantWaiting($id: ID!) {
  rollout(id: $id) {
    cursor
    rollout {
      name
      counts: deploymentCounts { ${counts} }
      failures: deployments(filter: { states: [FAILED] }, first: 5) { nodes { deploymentId ${target} ${error} } }
    }
  }
}`

export const viewer = 'query AssistantViewer { viewer { roles } }'

export const alert = `query AssistantAlert($id: ID!) {
  revision
  node(id: $id) { ... on Alert { rule severity state summary raisedAt acknowledgement { by comment } } }
}`

export const acknowledge = `mutation AssistantAcknowledge($input: AcknowledgeAlertInput!) {
  result: acknowledgeAlert(input: $input) {
    __typename ... on UserError { message } ... on AcknowledgeAlertSuccess { alert { acknowledgement { revision } } }
  }
}`

export const retirement = `query AssistantRetirement($filter: DeviceFilter!, $withChildren: Boolean!) {
  revision
  retirement(filter: $filter, withChildren: $withChildren) { devices children deployments }
}`

export const retire = `mutation AssistantRetire($input: RetireDevicesInput!) {
  result: retireDevices(input: $input) { __typename ... on UserError { message } ... on RetireDevicesSuccess { revision } }
}`

export const selectedTargets = `query AssistantSelectedTargets($filter: DeviceFilter, $clusters: ClusterFilter, $first: Int!, $hasDevices: Boolean!, $hasClusters: Boolean!) {
  revision
  devices(filter: $filter, first: $first) @include(if: $hasDevices) { totalCount nodes { deviceId } }
  clusters(filter: $clusters, first: $first) @include(if: $hasClusters) { totalCount nodes { name provider } }
}`

export const plan = `mutation AssistantPlan($input: PlanMaintenanceInput!) {
  result: planMaintenance(input: $input) {
    __typename ... on UserError { message } ... on PlanMaintenanceSuccess { window { maintenanceId } }
  }
}`

export const declared = `query AssistantDeclared($deploymentIds: [String!]!, $names: [String!]!) {
  revision
  known: deploymentCounts(filter: { deploymentIds: $deploymentIds }) { total }
  rollouts(filter: { names: $names, kinds: [DECLARED] }, first: 1) { nodes { id } }
}`

export const declare = `mutation AssistantDeclare($input: DeclareDeploymentsInput!) {
  result: declareDeployments(input: $input) {
    __typename ... on UserError { message } ... on DeclareDeploymentsSuccess { revision rollout { id } }
  }
}`

export const resources = {
  rollout: `query AssistantRolloutResource($id: ID!) {
  revision
  rollout(id: $id) { id name kind state status startedAt finishedAt counts: deploymentCounts { ${counts} } }
}`,
  device: `query AssistantDeviceResource($deviceId: String!) {
  revision
  device(deviceId: $deviceId) { deviceId connectivity lastHeardAt registered labels { key value } counts: deploymentCounts { ${counts} } }
}`,
} as const

/** All of them. */
export const assistantDocuments: readonly string[] = [
  ...[findRollouts, whatIsWrong, rollout, deployment, device, search, moments, changesBetween, stateAt],
  ...[waiting, viewer, alert, acknowledge, retirement, retire, selectedTargets, plan, declared, declare],
  ...Object.values(resources),
]
