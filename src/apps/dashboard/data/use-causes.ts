/** The query of a page that shows causes of failures, each with its sites: the values of a label that the reader chooses. */
import { useEffect, useState } from 'preact/hooks'
import type { CausesData } from './causes.ts'
import type { Document } from './graphql.ts'
import { type AnswerTo, type ChangeFilter, useLiveAnswer } from './use-query.ts'

interface SiteVariables {
  /** The label whose values are the sites. */
  readonly labelKey: string
  readonly hasLabels: boolean
}

export interface SiteLabels {
  /** The labels to choose from. */
  readonly keys: readonly string[]
  /** Null: there are none. */
  readonly chosen: string | null
  /** The label whose values the sites of the answer are: until the next answer, that of the last one. */
  readonly answered: string | null
}

/** Where it is not known which labels there are. */
export const usualLabel = 'site'

/**
 * `asked`: the label in the address. Which labels there are is known from an answer only, so the first question is a guess. If it was wrong, the query
 * is repeated.
 */
export function useCauses<Data extends CausesData & { readonly revision: string }, Variables>(
  query: Document<Data, Variables & SiteVariables>,
  variables: Variables,
  filter: ChangeFilter | null,
  asked: string | null,
): AnswerTo<Data, Variables & SiteVariables> & { readonly labels: SiteLabels } {
  const [keys, setKeys] = useState<readonly string[] | null>(null)
  const labelKey = keys === null ? (asked ?? usualLabel) : choose(keys, asked)
  const answer = useLiveAnswer(
    query,
    { ...variables, labelKey: labelKey ?? usualLabel, hasLabels: labelKey !== null },
    filter,
    // With another label, the rest of the answer is as valid as before.
    { about: `${query} ${JSON.stringify(variables)}` },
  )
  const { data, answered } = answer
  const found = data && labelKeysOf(data)
  useEffect(() => {
    if (found) setKeys(found)
  }, [JSON.stringify(found)])
  const offered = found ?? keys ?? []
  return {
    ...answer,
    labels: {
      keys: offered,
      chosen: choose(offered, asked),
      answered: answered?.hasLabels ? answered.labelKey : null,
    },
  }
}

function choose(keys: readonly string[], asked: string | null): string | null {
  return keys.find((key) => key === asked) ?? keys.find((key) => key === usualLabel) ?? keys[0] ?? null
}

/** The labels of the newest deployment of each cause. Null: there are no causes. */
function labelKeysOf({ failedBy: { nodes } }: CausesData): readonly string[] | null {
  const labels = nodes.flatMap(({ deployments }) => deployments.flatMap(({ target }) => target.labels))
  return nodes.length === 0 ? null : [...new Set(labels.map(({ key }) => key))].sort()
}
