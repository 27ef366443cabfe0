/**
 * Starts the files that start many processes first, then the slowest, so that all workers end at the same time. Vitest orders files by the
 * durations of the last run; a fresh checkout has none, and there the size of a file says little: the shortest files wait for servers that are killed.
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

/**
 * Files and folders of files that start many processes. The kernel copies the page tables of the worker for each of them, 25 ms of processor time
 * for a gigabyte. A worker grows to two gigabytes with the databases that it opens, so these files run before that.
 */
const starting =
  /^(cli|deploy|docs|git|mqtt|road\/faults|simulate)\/|^rest\/(git|tls|health)|^(closing|main|readme|first-steps)$/

const folder = new URL('..', import.meta.url).pathname

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
