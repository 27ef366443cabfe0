/** A rollout beside earlier ones, each from its own start. */
import { type FragmentOf, graphql } from './graphql.ts'
import { now } from './time.ts'
import { useAnswer } from './use-query.ts'

const sideFragment = graphql(`
  fragment Side on ComparedRollout {
    rollout { id name }
    points { seconds counts { total installed failed } }
  }
`)

export type Side = FragmentOf<typeof sideFragment>

const compareDocument = graphql(
  `query Compare($ids: [ID!]!) { compareRollouts(ids: $ids) { isWorse summary rollouts { ...Side } } }`,
  [sideFragment],
)

/** Milliseconds between two requests: a comparison reads many past moments. */
const refreshInterval = 30_000

/** `others` empty: nothing is asked. `isOver`: the rollout no longer changes. */
export function useComparison(id: string, others: readonly string[], isOver: boolean) {
  const { data, isCurrent, error } = useAnswer(
    compareDocument,
    { ids: [id, ...others] },
    { version: isOver ? null : Math.floor(now.value / refreshInterval), isOff: others.length === 0 },
  )
  return { comparison: others.length === 0 ? null : (data?.compareRollouts ?? null), isCurrent, error }
}
