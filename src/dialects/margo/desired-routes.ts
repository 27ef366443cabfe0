/** Where devices fetch what they should run: today's routes, by the caller's credential, and those before them that name the client. */
import { type Problems, refusal } from './problems.ts'
import { later, readPathId } from './routes.ts'

interface Asked {
  /** The path's client; null where the caller is known by its credential. */
  readonly clientId: string | null
  /** Where the urls of a manifest begin that is asked for here. */
  readonly base: string
}

export type DesiredRoute =
  | (Asked & { readonly kind: 'manifest' })
  | (Asked & { readonly kind: 'document'; readonly deploymentId: string; readonly digest: string })
  | (Asked & { readonly kind: 'bundle'; readonly digest: string })

const pattern = new RegExp(
  `^(?<root>${later}/api/v1)(?:/clients/(?<clientId>[^/]*))?` +
    '(?:/deployments(?:/(?<deploymentId>[^/]*)/(?<digest>[^/]*))?|/bundles/(?<bundle>[^/]*))$',
)

/** Null: not one of them. `path` is the request's as sent, without its query. Throws SEMANTIC_ERROR where an id of it is none. */
export function matchDesiredRoute(path: string): DesiredRoute | null {
  const { root = '', ...ids } = pattern.exec(path)?.groups ?? {}
  if (root === '') return null
  const problems: Problems = { list: null }
  const read = (field: string, encoded: string | undefined) =>
    encoded === undefined ? null : readPathId(problems, field, encoded)
  const clientId = read('clientId', ids.clientId)
  const deploymentId = read('deploymentId', ids.deploymentId)
  const digest = read('digest', ids.digest ?? ids.bundle)
  if (problems.list !== null) throw refusal(problems.list, 'The path')
  const asked = { clientId, base: clientId === null ? root : `${root}/clients/${encodeURIComponent(clientId)}` }
  if (digest === null) return { ...asked, kind: 'manifest' }
  return deploymentId === null
    ? { ...asked, kind: 'bundle', digest }
    : { ...asked, kind: 'document', deploymentId, digest }
}
