/** The rollout that a caller names: by its name, or by the ID that another answer has. */
import { pageOf } from './answer.ts'
import { AskError, isInvalid } from './asking.ts'
import { findRollouts } from './documents.ts'
import type { ToolContext } from './tool.ts'

interface Candidate {
  readonly id: string
  readonly name: string
  readonly project: string | null
  readonly kind: string
  /** Of the same application before it, the newest first. */
  readonly earlier?: readonly { readonly id: string; readonly name: string }[]
}

export async function findRollout(
  { asking, signal }: ToolContext,
  rollout: string,
  { hasEarlier = false } = {},
): Promise<Candidate> {
  const find = async (filter: object): Promise<readonly Candidate[]> => {
    const variables = { filter, hasEarlier }
    const found = await asking.ask<{ rollouts: { nodes: readonly Candidate[] } }>(findRollouts, variables, signal)
    return found.rollouts.nodes
  }
  const named = await find({ names: [rollout] })
  // A name is no ID of a node, which is an error of its own.
  const found = named.length > 0 ? named : await find({ ids: [rollout] }).catch(noneIfInvalid)
  const [one, ...others] = found
  if (!one) throw new AskError('NOT_FOUND', `there is no rollout ${rollout}: use the tool search`)
  if (others.length === 0) return one
  const list = found.map(({ id, project, kind }) => `${id} (${kind}${project === null ? '' : ` of ${project}`})`)
  throw new AskError('AMBIGUOUS', `several rollouts have this name; give one of these IDs instead: ${list.join(', ')}`)
}

function noneIfInvalid(error: unknown): readonly Candidate[] {
  if (isInvalid(error)) return []
  throw error
}

/** The filter of one rollout, and of all. */
export const rolloutIdsOf = async (
  context: ToolContext,
  rollout: string | undefined,
): Promise<readonly string[] | null> => (rollout === undefined ? null : [(await findRollout(context, rollout)).id])

export const rolloutPage = (ids: readonly string[] | null): string => (ids?.[0] === undefined ? '' : pageOf(ids[0]))
