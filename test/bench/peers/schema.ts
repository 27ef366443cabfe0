/** The part of our schema that the query benchmark asks, for servers that are given resolvers. */
import { createReads } from './reads.ts'

export const typeDefs = `
  type Query {
    deployments(first: Int, after: String): Deployments!
    rollout(key: RolloutKey!): Rollout
    deployment(deploymentId: String!, deviceId: String): Deployment
  }
  input RolloutKey { name: String! }
  enum State { PENDING INSTALLING INSTALLED FAILED REMOVING REMOVED }
  type Deployments { nodes: [Deployment!]! pageInfo: PageInfo }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type Deployment {
    deploymentId: String!
    reporter: String!
    state: State!
    components: [Component!]!
    rollout: Rollout!
    history(first: Int): Changes!
  }
  type Component { name: String! state: State! }
  type Rollout { name: String! deploymentCounts: Counts! deployments(first: Int): Deployments! }
  type Counts { total: Int! installed: Int! failed: Int! }
  type Changes { nodes: [Change!]! }
  interface Change { revision: String! kind: String! }
  type DeploymentStateChanged implements Change { revision: String! kind: String! from: State to: State! }
  type ComponentStateChanged implements Change { revision: String! kind: String! component: String! from: State to: State! }
`

const reads = createReads(process.env.DATABASE_URL ?? '')

export const resolvers = {
  Query: {
    deployments: (_: unknown, { after }: { after?: string | null }) => reads.page(after ?? null),
    rollout: (_: unknown, { key }: { key: { name: string } }) => reads.rollout(key.name),
    deployment: (_: unknown, { deploymentId, deviceId }: { deploymentId: string; deviceId: string }) =>
      reads.deployment(deploymentId, deviceId),
  },
}

/** Mercurius and Yoga call it differently. */
export function typeOfChange({ kind }: { kind: string }): string {
  return kind === 'DEPLOYMENT_STATE_CHANGED' ? 'DeploymentStateChanged' : 'ComponentStateChanged'
}
