/** The routes by which devices fetch their desired state: today's, by credential, and the earlier ones, which name the client. */
import type { Fetched } from '../devices.ts'
import { type Route, readIds } from '../router.ts'
import { later } from './routes.ts'

export const desiredRoutes: readonly Route<Fetched>[] = later.flatMap((prefix) =>
  ['', '/clients/:clientId'].flatMap((client) => {
    const root = `${prefix}/api/v1`
    const asked = ({ clientId = null }: { readonly clientId?: string | null }): Pick<Fetched, 'clientId' | 'base'> => ({
      clientId,
      base: clientId === null ? root : `${root}/clients/${encodeURIComponent(clientId)}`,
    })
    const at = root + client
    const copy = { prefix, of: client === '' ? '1.0.0-rc.3' : '2025' }
    return [
      { template: `${at}/deployments`, copy, read: (ids) => ({ ...asked(readIds(ids)), kind: 'manifest' }) },
      {
        template: `${at}/deployments/:deploymentId/:digest`,
        copy,
        read(segments) {
          const { deploymentId = '', digest = '', ...client } = readIds(segments)
          return { ...asked(client), kind: 'document', deploymentId, digest }
        },
      },
      {
        template: `${at}/bundles/:digest`,
        copy,
        read(segments) {
          const { digest = '', ...client } = readIds(segments)
          return { ...asked(client), kind: 'bundle', digest }
        },
      },
    ] satisfies Route<Fetched>[]
  }),
)
