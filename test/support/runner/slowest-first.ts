/**
 * Starts the files that start many processes first, then the slowest, so that all workers end at the same time. Vitest orders files by the
 * durations of the last run; a fresh checkout has none, and there the size of a file says little: the shortest files wait for servers that are killed.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take more than twelve seconds on two cores, the slowest first. */
export const slowest = [
  'attacks/outbound.deep',
  'dashboard/layout/every-page',
  'store/read/past/past',
  'road/tenants/tenants',
  'attacks/large-bodies.deep',
  'attacks/unstorable-text.deep',
  'road/reference-model',
  'store/read/deployments/deployments',
  'store/read/deployments/filter-cost.deep',
  'main',
  'attacks/attacker',
  'dashboard/dashboard',
  'auth/matrix',
  'simulate/simulation',
  'dashboard/layout/accessibility',
  'graphql/subscriptions/filter-moves',
  'dashboard/pages/setup',
  'attacks/budgets',
  'attacks/siblings.deep',
  'deploy/package.deep',
  'export/archive',
  'docs/clients',
  'dashboard/pages/insight',
  'simulate/agents',
  'mqtt/simulation.deep',
  'sinks/deliveries',
  'deploy/monitoring',
  'road/faults/kill',
  'traces/traces',
  'dashboard/lists/large-fleet.deep',
  'cli/rollcall',
  'traces/requests',
  'ingest/commands/divided-commands',
  'ingest/alerts/property',
  'store/read/changes/changes',
  'dashboard/pages/resources',
  'auth/oidc/sign-in',
  'sinks/faults',
  'store/connection/standbys',
  'ingest/commands/desired',
  'dashboard/lists/lists',
  'road/faults/frozen-replica.deep',
  'graphql/transport/response-cache',
  'road/faults/network.deep',
  'simulate/clusters',
  'ingest/alerts/alerts',
  'attacks/fair-subscriptions.deep',
  'mqtt/redelivery',
  'dashboard/navigation/sign-in',
  'road/faults/restored',
  'mqtt/broker-faults',
  'attacks/held-streams.deep',
  'auth/devices/certificates',
  'store/read/past/past-cost.deep',
  'attacks/held-bodies',
  'rest/health',
  'rest/devices/onboarding',
  'auth/oidc/attacks',
  'rest/git/clients',
  'mqtt/publish',
  'git/git',
  'rest/devices/desired',
  'ingest/commands/orchestration-resources',
  'store/partitions',
  'mqtt/reports',
  'ingest/duties/stalling',
  'graphql/objects/orchestration',
  'attacks/fuzz',
  'store/connection/template',
  'mqtt/model',
  'ingest/commands/divided-resources',
]

/**
 * Files and folders of files that start many processes. The kernel copies the page tables of the worker for each of them, 25 ms of processor time
 * for a gigabyte. A worker grows to two gigabytes with the databases that it opens, so these files run before that. So does the file that counts
 * objects of the whole heap.
 */
const starting =
  /^(cli|deploy|docs|git|mqtt|road\/faults|simulate)\/|^rest\/(git|tls|health)|^(closing|main|readme|process\/first-steps|attacks\/kept-documents)$/

const folder = new URL('../..', import.meta.url).pathname

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const name = relative(folder, moduleId).replace(/\.test\.ts$/, '')
      const place = slowest.indexOf(name)
      return (place < 0 ? slowest.length : place) + (starting.test(name) ? 0 : slowest.length + 1)
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
