/** GraphiQL's initial query. It works on an empty fleet. The editor cuts comments that are longer than 45 characters. */
export const defaultQuery = `# The fleet: deployments counted by state,
# and the deployments that changed last.
# No deployments yet? Post a report first.
# The README has one to copy.

query Fleet {
  revision
  deploymentCounts {
    total
    pending
    installing
    installed
    failed
  }
  deployments(first: 10) {
    nodes {
      deploymentId
      device { deviceId }
      state
      error { code message }
      components { name state }
      changedAt
    }
    pageInfo { hasNextPage endCursor }
  }
}

# Changes from now on. To continue without
# a gap, pass the revision above as "after".
# Press the play button, then choose Watch.

subscription Watch {
  changes {
    cursor
    change {
      kind
      at
      ... on DeploymentStateChanged { deploymentId from to }
      ... on ComponentStateChanged { deploymentId component from to }
    }
  }
}
`
