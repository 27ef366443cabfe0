/** The newest revision of a deployment that changed its version. Most change none, so it may be far back in the log. */
import { ask } from './api.ts'
import { graphql, type ResultOf, type VariablesOf } from './graphql.ts'

const revisedDocument = graphql(`
  query Revised($asOf: DateTime, $rolloutIds: [ID!], $before: Revision) {
    changes(filter: { kinds: [DEPLOYMENT_REVISED], rolloutIds: $rolloutIds, before: $asOf }, last: 100, before: $before) {
      nodes {
        revision at
        ... on DeploymentRevised { application applicationVersion fromApplicationVersion rollout { presentId name } }
      }
      pageInfo { hasPreviousPage startCursor }
    }
  }
`)

/** Pages that are read at most. Rare releases must not read the whole log. */
const mostPages = 5

type Answer = ResultOf<typeof revisedDocument>
type Revised = Extract<Answer['changes']['nodes'][number], { readonly application: unknown }>

interface LatestRelease {
  readonly release: Revised | null
  /** The revisions that were read. */
  readonly read: number
  /** Whether older revisions were not read. */
  readonly hasMore: boolean
}

export async function findLatestRelease(
  variables: Pick<VariablesOf<typeof revisedDocument>, 'asOf' | 'rolloutIds'>,
  signal: AbortSignal,
): Promise<LatestRelease> {
  const { rolloutIds } = variables
  // A deployment that joins another rollout is revised, too: that is a change of both.
  const isRelease = ({ applicationVersion, fromApplicationVersion, rollout }: Revised): boolean =>
    applicationVersion !== fromApplicationVersion &&
    (!rolloutIds || (rollout !== null && rolloutIds.includes(rollout.presentId)))
  let before: Answer['changes']['pageInfo']['startCursor'] = null
  let read = 0
  for (let page = 1; ; page += 1) {
    const answer: Answer = await ask(revisedDocument, { ...variables, before }, signal)
    const { nodes, pageInfo }: Answer['changes'] = answer.changes
    read += nodes.length
    const release = nodes.filter((change) => 'application' in change).findLast(isRelease) ?? null
    if (release || !pageInfo.hasPreviousPage || page === mostPages)
      return { release, read, hasMore: pageInfo.hasPreviousPage }
    before = pageInfo.startCursor
  }
}
