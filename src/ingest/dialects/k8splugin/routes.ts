/** /v1/instance and the routes below it. */
import { type Route, readIds, type Segments } from '../router.ts'

export type K8spluginRoute =
  | { readonly of: 'instances' }
  | { readonly of: 'instance'; readonly instanceId: string }
  | { readonly of: 'status'; readonly instanceId: string }
  | { readonly of: 'subscriptions'; readonly instanceId: string }
  | { readonly of: 'subscription'; readonly instanceId: string; readonly subscription: string }

const instance = '/v1/instance/:instanceId'

export const k8spluginRoutes: readonly Route<K8spluginRoute>[] = [
  { template: '/v1/instance', read: () => ({ of: 'instances' }) },
  { template: instance, read: (ids) => ({ of: 'instance', ...instanceOf(ids) }) },
  { template: `${instance}/status`, read: (ids) => ({ of: 'status', ...instanceOf(ids) }) },
  { template: `${instance}/status/subscription`, read: (ids) => ({ of: 'subscriptions', ...instanceOf(ids) }) },
  {
    template: `${instance}/status/subscription/:subscription`,
    read(segments) {
      const { instanceId = '', subscription = '' } = readIds(segments)
      return { of: 'subscription', instanceId, subscription }
    },
  },
]

/** Clients send them with and without a slash at the end. */
export const inventoryRoutes: readonly Route<{ readonly isEnding: boolean }>[] = ['update', 'delete'].flatMap((call) =>
  ['', '/'].map((end) => ({
    template: `/api/cnf-adapter/v1/aai-${call}${end}`,
    read: () => ({ isEnding: call === 'delete' }),
  })),
)

function instanceOf(segments: Segments): { readonly instanceId: string } {
  const { instanceId = '' } = readIds(segments)
  return { instanceId }
}
