/** What the caller may do. The API refuses the rest, whatever the page offers. */
import { graphql } from './graphql.ts'
import { useAnswer } from './use-query.ts'

const viewerDocument = graphql(`query Viewer { viewer { roles scopes } }`)

/** The role OPERATOR or ADMIN for the whole fleet. */
export function useIsOperator(): boolean {
  const { data } = useAnswer(viewerDocument, {})
  if (!data) return false
  const { roles, scopes } = data.viewer
  return scopes.length === 0 && roles.some((role) => role === 'OPERATOR' || role === 'ADMIN')
}
