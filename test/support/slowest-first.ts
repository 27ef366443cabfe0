/**
 * Starts the slowest files first, so that all workers end at the same time. Vitest orders files by the durations of the last run; a fresh
 * checkout has none, and there the size of a file says little: the shortest files wait for servers that are killed.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take more than nine seconds on two cores, the slowest first. */
const slowest = [
  'attacks/large-bodies',
  'main',
  'dashboard/accessibility',
  'store/reads/past',
  'deploy/package',
  'dashboard/dashboard',
  'store/reads/deployments',
  'road/reference-model',
  'simulate/agents',
  'road/tenants',
  'attacks/unstorable-text',
  'simulate/simulation',
  'cli/rollcall',
  'attacks/attacker',
  'attacks/budgets',
  'road/faults/kill',
  'docs/clients',
  'road/faults/frozen-replica',
  'simulate/clusters',
  'attacks/siblings',
  'store/standbys',
  'deploy/monitoring',
  'auth/matrix',
  'git/repositories',
  'dashboard/large-fleet',
  'rest/git',
  'rest/git-access',
  'road/faults/outage',
  'rest/health',
  'dashboard/alerts',
  'rest/git-history',
  'attacks/kept-documents',
  'closing',
  'road/faults/restored',
  'road/faults/upgrade',
  'rest/desired',
  'rest/git-clients',
  'store/reads/past-cost',
  'sinks/faults',
  'attacks/connections',
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
