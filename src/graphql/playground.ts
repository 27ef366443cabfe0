/** What GraphiQL opens with: it works on an empty fleet, and shows more as reports come in. */
export const defaultQuery = `# Rollcall: who is here, and how far are they?
# Nobody yet? Post a report first: the README's first screen has one to copy.

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

# Watch what happens from now on, or pass the revision from above as "after" to miss nothing in between.
# Choose "Watch" beside the play button.

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
