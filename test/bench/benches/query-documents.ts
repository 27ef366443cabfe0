/** The three queries in our words and in PostGraphile's, and how their answers are brought to one form. */

export interface Dialect {
  readonly page: string
  readonly rollout: string
  readonly deployment: string
  rolloutVariables(name: string): object
  readPage(data: Json): { nodes: unknown; next: string }
  readRollout(data: Json): unknown
  readDeployment(data: Json): unknown
}

// biome-ignore lint/suspicious/noExplicitAny: an answer whose form the queries below fix.
type Json = any

export const ours: Dialect = {
  page: `query Page($after: String) {
    deployments(first: 50, after: $after) {
      nodes { deploymentId reporter state components { name state } rollout { name deploymentCounts { total installed failed } } }
      pageInfo { hasNextPage endCursor }
    }
  }`,
  rollout: `query Rollout($name: String!) {
    rollout(key: { name: $name }) {
      name
      deploymentCounts { total installed failed }
      deployments(first: 20) { nodes { deploymentId reporter state } }
    }
  }`,
  deployment: `query Deployment($id: String!, $device: String!) {
    deployment(deploymentId: $id, deviceId: $device) {
      deploymentId
      state
      components { name state }
      history(first: 20) {
        nodes {
          revision
          kind
          ... on DeploymentStateChanged { from to }
          ... on ComponentStateChanged { component from to }
        }
      }
    }
  }`,
  rolloutVariables: (name) => ({ name }),
  readPage: ({ deployments: { nodes, pageInfo } }) => ({
    nodes: nodes.map(({ components, rollout, ...node }: Json) => ({
      deploymentId: node.deploymentId,
      reporter: node.reporter,
      state: node.state,
      components: components.map(bare),
      rollout,
    })),
    next: pageInfo.endCursor,
  }),
  readRollout: ({ rollout }) => ({
    name: rollout.name,
    deploymentCounts: rollout.deploymentCounts,
    deployments: rollout.deployments.nodes,
  }),
  readDeployment: ({ deployment: { deploymentId, state, components, history } }) => ({
    deploymentId,
    state,
    components: components.map(bare),
    history: history.nodes.map(({ revision, kind, component, from, to }: Json) => ({
      revision,
      kind,
      component: component ?? null,
      from,
      to,
    })),
  }),
}

const counters = 'name pending installing installed failed removing removed'

export const postgraphile: Dialect = {
  page: `query Page($after: Cursor) {
    deployments: allDeployments(first: 50, after: $after, condition: { forgottenAt: null }, orderBy: [REVISION_DESC]) {
      nodes { deploymentId reporter state components rolloutByRolloutKey { ${counters} } }
      pageInfo { hasNextPage endCursor }
    }
  }`,
  rollout: `query Rollout($identity: String!) {
    rolloutByKindAndIdentity(kind: MARGO_DEPLOYMENT, identity: $identity) {
      ${counters}
      deploymentsByRolloutKey(first: 20, condition: { forgottenAt: null }, orderBy: [REVISION_DESC]) { nodes { deploymentId reporter state } }
    }
  }`,
  deployment: `query Deployment($id: String!, $device: String!) {
    deploymentByReporterAndDeploymentId(deploymentId: $id, reporter: $device) {
      deploymentId
      state
      components
      changeLogsByDeploymentKey(first: 20, orderBy: [FIRST_REVISION_ASC]) { nodes { firstRevision changes } }
    }
  }`,
  rolloutVariables: (name) => ({ identity: `[null,null,null,null,${JSON.stringify(name)}]` }),
  readPage: ({ deployments: { nodes, pageInfo } }) => ({
    nodes: nodes.map(({ deploymentId, reporter, state, components, rolloutByRolloutKey }: Json) => ({
      deploymentId,
      reporter,
      state,
      components: components.map(bare),
      rollout: counted(rolloutByRolloutKey),
    })),
    next: pageInfo.endCursor,
  }),
  readRollout: ({ rolloutByKindAndIdentity: rollout }) => ({
    ...counted(rollout),
    deployments: rollout.deploymentsByRolloutKey.nodes,
  }),
  readDeployment: ({ deploymentByReporterAndDeploymentId: deployment }) => ({
    deploymentId: deployment.deploymentId,
    state: deployment.state,
    components: deployment.components.map(bare),
    history: deployment.changeLogsByDeploymentKey.nodes.flatMap(({ firstRevision, changes }: Json) =>
      changes.map(({ kind, component, from, to }: Json, index: number) => ({
        revision: String(Number(firstRevision) + index),
        kind,
        component: component ?? null,
        from,
        to,
      })),
    ),
  }),
}

function bare({ name, state }: Json): object {
  return { name, state }
}

function counted({ name, pending, installing, installed, failed, removing, removed }: Json): object {
  return {
    name,
    deploymentCounts: { total: pending + installing + installed + failed + removing + removed, installed, failed },
  }
}
