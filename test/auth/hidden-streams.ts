/** Subscriptions whose events would tell what others do. */
import { timeOf } from './two-fleets.ts'

const counts = 'counts { total installing installed failed }'
const rows = 'cursor hasNextPage isSnapshot removed reset { reason }'
export type Step = 'deployment' | 'resource'

interface Follow {
  /** The steps that it has an event for. */
  readonly steps: readonly Step[]
  readonly document: string
}

/** By the name of the field. The values of the head, which grow with each change, are only in `cursor`. */
export const follows: Readonly<Record<string, Follow>> = {
  changes: {
    steps: ['deployment', 'resource'],
    document: 'changes { cursor reset { reason } change { __typename kind revision at } }',
  },
  deployment: {
    steps: ['deployment'],
    document:
      'deployment(deploymentId: "spring-13") { cursor coalesced deployment { state revision } changes { kind revision at } }',
  },
  deploymentCounts: { steps: ['deployment'], document: `deploymentCounts { cursor coalesced ${counts} }` },
  deploymentCountsOverTime: {
    steps: ['deployment'],
    document: `deploymentCountsOverTime(from: "${timeOf(0)}", step: 7) { cursor coalesced points { at revision ${counts} } }`,
  },
  deploymentGroups: {
    steps: ['deployment'],
    document: `deploymentGroups(by: ROLLOUT) { cursor coalesced hasNextPage isSnapshot removed rows { change position from group { changedAt revision ${counts} } } }`,
  },
  deployments: {
    steps: ['deployment'],
    document: `deployments { ${rows} rows { change position deployment { deploymentId state revision } } }`,
  },
  devices: {
    steps: ['deployment'],
    document: `devices { ${rows} rows { change position device { deviceId lastHeardAt } } }`,
  },
  resourceCounts: {
    steps: ['resource'],
    document: 'resourceCounts { cursor coalesced counts { sync { applied pending } } }',
  },
  resources: {
    steps: ['resource'],
    document: `resources { ${rows} rows { change position resource { sync changedAt revision } } }`,
  },
  rollout: {
    steps: ['deployment'],
    document: `rollout(key: { project: "alpha", name: "spring" }) { cursor coalesced rollout { name } changes { kind revision at } }`,
  },
}
