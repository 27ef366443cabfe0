/**
 * A device's client. On each wake it continues its present job, or asks for its desired state:
 *
 *   ask ── unchanged ──▸ sleep
 *    └── new version ──▸ a job for each document that changed or was removed ── one step, reported, on each wake ──▸ applied
 *
 * Some of its reports are sent twice, some never, and some so late that the next one overtakes them. The report that ends a job is always sent.
 */
import { parse } from 'yaml'
import type { DeploymentState } from '../../../domain/values.ts'
import { createRandom } from '../random.ts'
import type { AgentRecord, Outcome } from '../records.ts'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import { digestOf, type Fetched, type Fetcher } from './fetch.ts'
import { isBroken, type SimulatedAgent } from './plan.ts'

export interface Agent {
  wake(): Promise<void>
  /** Finishes all jobs, so that the final check finds no agent in the middle of one. */
  settle(): Promise<void>
}

interface AgentOptions extends RetryOptions {
  readonly url: string
  readonly token: string | undefined
  readonly agent: SimulatedAgent
  readonly seed: number
  readonly fetcher: Fetcher
  readonly record: AgentRecord
}

interface Job {
  readonly deploymentId: string
  readonly version: number
  /** Null: it is removed. */
  readonly digest: string | null
  readonly components: readonly string[]
  readonly steps: DeploymentState[]
  readonly outcome: Outcome
}

interface Report {
  readonly job: Job
  readonly state: DeploymentState
  readonly seq: number
}

type Delivery = 'new' | 'again' | 'late'

export function createAgent({ url, token, agent, seed, fetcher, record, ...retryOptions }: AgentOptions): Agent {
  const random = createRandom(`${seed}/agent/${agent.name}`)
  const jobs: Job[] = []
  /** The running deployments by deploymentId, with their components. */
  const running = new Map<string, { readonly digest: string; readonly components: readonly string[] }>()
  let version = 0
  let seq = 0
  let late: Report | null = null

  async function ask(): Promise<boolean> {
    const fetched = await fetcher.fetch().catch((error: Error) => {
      record.differ(agent, error.message)
      return null
    })
    if (fetched === null) return false
    record.counts.polls += 1
    if (fetched === 'unchanged') return true
    record.counts.fetched += 1
    if (fetched.version <= version)
      record.differ(agent, `after version ${version} the server sent version ${fetched.version}`)
    // An agent that stays on its first version must have a version first.
    if (!agent.isKeptBack || running.size === 0) adopt(fetched)
    return true
  }

  function adopt(fetched: Fetched): void {
    version = fetched.version
    for (const [deploymentId, content] of fetched.documents) {
      const digest = digestOf(content)
      if (running.get(deploymentId)?.digest === digest) continue
      const { components, revisions } = readDocument(content)
      const outcome = revisions.some(isBroken) ? 'FAILED' : 'INSTALLED'
      jobs.push({ deploymentId, version, digest, components, steps: ['PENDING', 'INSTALLING', outcome], outcome })
      running.set(deploymentId, { digest, components })
    }
    for (const [deploymentId, { components }] of running) {
      if (fetched.documents.has(deploymentId)) continue
      const steps: DeploymentState[] = ['REMOVING', 'REMOVED']
      jobs.push({ deploymentId, version, digest: null, components, steps, outcome: 'REMOVED' })
      running.delete(deploymentId)
    }
  }

  /** False: the simulation ended first. */
  async function goOn(job: Job): Promise<boolean> {
    const [state] = job.steps
    if (state === undefined) return true
    seq += 1
    const isLast = job.steps.length === 1
    if (!(await deliver({ job, state, seq }, isLast))) return false
    job.steps.shift()
    if (!isLast) return true
    late = null
    jobs.shift()
    const { deploymentId, digest, outcome } = job
    record.applied(agent, deploymentId, { version: job.version, digest, outcome })
    return true
  }

  /** Some reports are dropped, late, or sent again, but never the last one of a job. */
  async function deliver(report: Report, isLast: boolean): Promise<boolean> {
    const fate = isLast ? 1 : random.next()
    if (fate < 0.05) return true
    if (fate < 0.15 && late === null) {
      late = report
      return true
    }
    if (!(await send(report, 'new'))) return false
    if (random.chance(0.1) && !(await send(report, 'again'))) return false
    // A late report of another deployment would not be out of order.
    if (late?.job !== report.job) return true
    if (!(await send(late, 'late'))) return false
    late = null
    return true
  }

  async function send({ job, state, seq: own }: Report, how: Delivery): Promise<boolean> {
    const error = { code: 'HELM-7', message: `the chart of ${job.deploymentId} cannot be rendered` }
    const whyIfFailed = state === 'FAILED' ? { error } : {}
    const body = {
      deploymentId: job.deploymentId,
      adoptedManifestVersion: job.version,
      status: { state: state.toLowerCase(), ...whyIfFailed },
      components: job.components.map((name) => ({ name, state: state.toLowerCase(), ...whyIfFailed })),
      rollcall: { seq: own, boot: 'b1' },
    }
    const path = `/api/v1/clients/${encodeURIComponent(agent.deviceId)}/deployments/${encodeURIComponent(job.deploymentId)}/status`
    const answered = await sendWithRetry(
      { method: 'POST', url: `${url}${path}`, body: JSON.stringify(body), token },
      retryOptions,
    )
    if (!answered) {
      record.unanswered(agent)
      return false
    }
    record.counts.reports += 1
    const answer = (await answered.response.json().catch(() => ({}))) as { verdict?: string; detail?: string }
    const expected = { new: 'APPLIED', again: 'UNCHANGED', late: 'STALE' }[how]
    if (!answered.response.ok)
      record.differ(agent, `a valid report was refused: HTTP ${answered.response.status} ${answer.detail ?? ''}`)
    else if (answer.verdict !== expected && !answered.isRepeat)
      record.differ(
        agent,
        `the verdict on ${state} of ${job.deploymentId} was ${answer.verdict}, but should be ${expected}`,
      )
    return true
  }

  const wake = async (): Promise<boolean> => {
    const [job] = jobs
    return job ? goOn(job) : ask()
  }

  return {
    async wake() {
      await wake()
    },
    async settle() {
      while (jobs.length > 0 && (await wake())) {
        // One step for each component.
      }
      if (await ask())
        while (jobs.length > 0 && (await wake())) {
          // Repeats the last report.
        }
    },
  }
}

interface DocumentBody {
  readonly spec: {
    readonly deploymentProfile: {
      readonly components: readonly { readonly name: string; readonly properties: { readonly revision: string } }[]
    }
  }
}

function readDocument(content: string): {
  readonly components: readonly string[]
  readonly revisions: readonly string[]
} {
  const { components } = (parse(content) as DocumentBody).spec.deploymentProfile
  return { components: components.map(({ name }) => name), revisions: components.map((one) => one.properties.revision) }
}
