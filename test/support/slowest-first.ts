/**
 * Starts the slowest files first, so that all workers end at the same time. Vitest orders files by the durations of the last run; a fresh
 * checkout has none, and there the size of a file says little: the shortest files wait for servers that are killed.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take more than nine seconds on two cores, the slowest first. */
const slowest = [
  'auth/matrix',
  'simulate/simulation',
  'dashboard/accessibility',
  'main',
  'dashboard/dashboard',
  'attacks/large-bodies',
  'simulate/agents',
  'road/reference-model',
  'road/faults/kill',
  'attacks/budgets',
  'attacks/siblings',
  'rest/git-history',
  'simulate/clusters',
  'road/faults/silent-commit',
  'road/faults/half-open',
  'road/faults/network',
  'cli/rollcall',
  'attacks/attacker',
  'road/tenants',
  'road/faults/frozen-replica',
  'deploy/monitoring',
  'rest/git-clients',
  'rest/git',
  'rest/onboarding',
  'git/repositories',
  'sinks/faults',
  'road/faults/restored',
  'cli/new-epoch',
  'attacks/held-bodies',
  'store/clock',
  'rest/tls',
  'road/faults/outage',
  'closing',
  'store/reads/past',
  'attacks/fair-subscriptions',
  'ingest/duties',
  'attacks/connections',
  'rest/health',
  'road/faults/leader',
  'rest/git-access',
  'dashboard/resources',
  'ingest/orchestration-resources',
  'graphql/response-cache',
]

const folder = new URL('..', import.meta.url).pathname

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = slowest.indexOf(relative(folder, moduleId).replace(/\.test\.ts$/, ''))
      return place < 0 ? slowest.length : place
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
