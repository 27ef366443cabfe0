/**
 * An object by its node ID, whose address is replaced by that of its page. Links for programs are of this form: an ID that a device chose is as long and
 * says what the device wants.
 */
import { useEffect } from 'preact/hooks'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { useAnswer } from '../data/use-query.ts'
import { replace } from '../route.ts'
import { Loading } from '../widgets/loading.tsx'

const nodeDocument = graphql(
  `query Node($id: ID!) { node(id: $id) { __typename id ... on Deployment { deploymentId reporter } ... on Device { deviceId } } }`,
)

export function NodePage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const { data, error } = useAnswer(nodeDocument, { id })
  const path = data?.node ? pathOf(data.node) : null
  useEffect(() => {
    if (path) replace(path, {})
  }, [data])
  return data && !path ? <h1>No page shows this object</h1> : <Loading title="Loading" error={error} />
}

function pathOf(node: NonNullable<ResultOf<typeof nodeDocument>['node']>): readonly string[] | null {
  if ('deploymentId' in node) return ['deployment', node.reporter, node.deploymentId]
  if ('deviceId' in node) return ['device', node.deviceId]
  const { __typename: type, id } = node
  return type === 'Rollout' || type === 'Resource' ? [type.toLowerCase(), id] : null
}
