/** The routes by which devices fetch their desired state: today's, by credential, and the earlier ones, which name the client. */
import { type Route, readIds } from '../router.ts'
import { later } from './routes.ts'

interface Asked {
  /** The path's client. Null: the credential identifies the caller. */
  readonly clientId: string | null
  /** The start of the URLs in a manifest that is requested here. */
  readonly base: string
}

export type DesiredRoute =
  | (Asked & { readonly kind: 'manifest' })
  | (Asked & { readonly kind: 'document'; readonly deploymentId: string; readonly digest: string })
  | (Asked & { readonly kind: 'bundle'; readonly digest: string })

export const desiredRoutes: readonly Route<DesiredRoute>[] = later.flatMap((prefix) =>
  ['', '/clients/:clientId'].flatMap((client) => {
    const root = `${prefix}/api/v1`
    const asked = ({ clientId = null }: { readonly clientId?: string | null }): Asked => ({
      clientId,
      base: clientId === null ? root : `${root}/clients/${encodeURIComponent(clientId)}`,
    })
    const at = root + client
    return [
      { template: `${at}/deployments`, read: (ids) => ({ ...asked(readIds(ids)), kind: 'manifest' }) },
      {
        template: `${at}/deployments/:deploymentId/:digest`,
        read(segments) {
          const { deploymentId = '', digest = '', ...client } = readIds(segments)
          return { ...asked(client), kind: 'document', deploymentId, digest }
        },
      },
      {
        template: `${at}/bundles/:digest`,
        read(segments) {
          const { digest = '', ...client } = readIds(segments)
          return { ...asked(client), kind: 'bundle', digest }
        },
      },
    ] satisfies Route<DesiredRoute>[]
  }),
)
