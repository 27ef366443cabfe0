/**
 * Starts the files that start many processes first, then the slowest, so that all workers end at the same time. Vitest orders files by the
 * durations of the last run; a fresh checkout has none, and there the size of a file says little: the shortest files wait for servers that are killed.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take more than twelve seconds on two cores, the slowest first. */
const slowest = [
  'dashboard/every-page',
  'store/reads/past',
  'road/tenants',
  'attacks/large-bodies',
  'attacks/unstorable-text',
  'road/reference-model',
  'store/reads/deployments',
  'store/reads/filter-cost',
  'main',
  'attacks/attacker',
  'dashboard/dashboard',
  'auth/matrix',
  'simulate/simulation',
  'dashboard/accessibility',
  'graphql/subscriptions/filter-moves',
  'dashboard/setup',
  'attacks/budgets',
  'attacks/siblings',
  'deploy/package',
  'export/archive',
  'docs/clients',
  'dashboard/insight',
  'simulate/agents',
  'mqtt/simulation',
  'sinks/deliveries',
  'deploy/monitoring',
  'road/faults/kill',
  'traces/traces',
  'dashboard/large-fleet',
  'cli/rollcall',
  'traces/requests',
  'ingest/divided-commands',
  'ingest/alerts-property',
  'store/reads/changes',
  'dashboard/resources',
  'auth/oidc/sign-in',
  'sinks/faults',
  'store/standbys',
  'ingest/desired',
  'dashboard/lists',
  'road/faults/frozen-replica',
  'graphql/transport/response-cache',
  'road/faults/network',
  'simulate/clusters',
  'ingest/alerts',
  'attacks/fair-subscriptions',
  'mqtt/redelivery',
  'dashboard/sign-in',
  'road/faults/restored',
  'mqtt/broker-faults',
  'attacks/held-streams',
  'auth/devices/certificates',
  'store/reads/past-cost',
  'attacks/held-bodies',
  'rest/health',
  'rest/onboarding',
  'auth/oidc/attacks',
  'rest/git-clients',
  'mqtt/publish',
  'git/git',
  'rest/desired',
  'ingest/orchestration-resources',
  'store/partitions',
  'mqtt/reports',
  'ingest/stalling',
  'graphql/objects/orchestration',
  'attacks/fuzz',
  'store/template',
  'mqtt/model',
  'ingest/divided-resources',
]

/**
 * Files and folders of files that start many processes. The kernel copies the page tables of the worker for each of them, 25 ms of processor time
 * for a gigabyte. A worker grows to two gigabytes with the databases that it opens, so these files run before that. So does the file that counts
 * objects of the whole heap.
 */
const starting =
  /^(cli|deploy|docs|git|mqtt|road\/faults|simulate)\/|^rest\/(git|tls|health)|^(closing|main|readme|first-steps|attacks\/kept-documents)$/

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
