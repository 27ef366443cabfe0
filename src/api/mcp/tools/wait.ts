/** Waits until a rollout is done or has failed, and tells its progress. */
import { z } from 'zod'
import { pageOf } from '../answer.ts'
import { AskError } from '../asking.ts'
import { waiting } from '../documents.ts'
import { findRollout } from '../find-rollout.ts'
import {
  type Counts,
  counts,
  type ErrorData,
  error,
  errorOf,
  idOf,
  sayCounts,
  sayError,
  type TargetData,
} from '../shapes.ts'
import { defineTool, id } from '../tool.ts'
import { markId, quote, untrusted } from '../untrusted.ts'

interface Data {
  readonly rollout: {
    readonly cursor: string
    readonly rollout: {
      readonly name: string
      readonly counts: Counts
      readonly failures: {
        readonly nodes: readonly {
          readonly deploymentId: string
          readonly target: TargetData
          readonly error: ErrorData | null
        }[]
      }
    } | null
  }
}

type Outcome = 'done' | 'failed' | 'timeout' | 'gone'

const usualSeconds = 300
/** A longer wait would hold a connection that proxies end. */
const mostSeconds = 3_600

function outcomeOf({ total, installed, failed }: Counts, tolerate: number): Outcome | null {
  if (failed > tolerate) return 'failed'
  return total > 0 && installed + failed === total ? 'done' : null
}

export const waitTool = defineTool({
  name: 'wait_for_rollout',
  title: 'Wait for a rollout',
  description:
    'Waits until all deployments of a rollout are installed, or more have failed than are tolerated, or the time is over. It reports its progress meanwhile, and ends when it is cancelled.',
  input: {
    rollout: id.describe('The name or the ID of the rollout.'),
    tolerate: z.number().int().min(0).default(0).describe('So many failed deployments are no failure of the rollout.'),
    timeoutSeconds: z.number().int().min(1).max(mostSeconds).default(usualSeconds),
  },
  facts: {
    outcome: z
      .enum(['done', 'failed', 'timeout', 'gone'])
      .describe('`gone`: the rollout has no deployments any more, or does not exist.'),
    rollout: untrusted,
    counts,
    failures: z.array(z.object({ deployment: untrusted, device: untrusted, error })),
  },
  async run(context, { rollout: name, tolerate, timeoutSeconds }) {
    const { asking, signal, clock, progress } = context
    const { id: rolloutId } = await findRollout(context, name)
    const over = new AbortController()
    const late = setTimeout(() => over.abort(), timeoutSeconds * 1_000)
    let seen: { readonly cursor: string; readonly rollout: NonNullable<Data['rollout']['rollout']> } | null = null
    let outcome: Outcome = 'timeout'
    const take = ({ rollout: { cursor, rollout } }: Data): void => {
      if (over.signal.aborted) return
      const isGone = rollout === null || (rollout.counts.total === 0 && (seen?.rollout.counts.total ?? 0) > 0)
      if (rollout) seen = { cursor, rollout }
      const reached = isGone ? 'gone' : outcomeOf(rollout.counts, tolerate)
      if (reached === null && rollout) {
        const { total, installed, failed } = rollout.counts
        void progress(installed + failed, total, sayCounts(rollout.counts)).catch(() => over.abort())
        return
      }
      outcome = reached ?? 'gone'
      over.abort()
    }
    try {
      await asking.follow<Data>(
        { query: waiting, variables: { id: rolloutId }, next: take },
        AbortSignal.any([over.signal, signal]),
      )
    } finally {
      clearTimeout(late)
    }
    signal.throwIfAborted()
    const last = seen as { readonly cursor: string; readonly rollout: NonNullable<Data['rollout']['rollout']> } | null
    if (!last) throw new AskError('NOT_FOUND', `there is no rollout ${name} any more`)
    const given = {
      outcome,
      rollout: markId(last.rollout.name),
      counts: last.rollout.counts,
      failures: last.rollout.failures.nodes.map(({ deploymentId, target, error: problem }) => ({
        ...{ deployment: markId(deploymentId), device: markId(idOf(target)), error: errorOf(problem) },
      })),
    }
    return {
      revision: last.cursor,
      time: new Date(clock()).toISOString(),
      page: pageOf(rolloutId),
      facts: given,
      lists: { failures: { total: last.rollout.counts.failed, how: 'use the tool rollout' } },
      lines: (kept) => [
        `${outcome}: rollout ${quote(given.rollout)}, ${sayCounts(given.counts)}`,
        ...(kept as typeof given).failures.map(
          (row) => `${quote(row.deployment)} on ${quote(row.device)} failed${sayError(row.error)}`,
        ),
      ],
    }
  },
})
