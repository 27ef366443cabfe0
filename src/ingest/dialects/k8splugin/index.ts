/** The instance API of ONAP's k8splugin, and so-cnf-adapter's calls for A&AI (docs/wire.md §3, §4). */

import { largeJson } from '../../../platform/body/rule.ts'
import { paced } from '../../../platform/limits/pace.ts'
import { type Dialect, type Methods, reading, recording } from '../dialect.ts'
import type { Readers } from '../readers.ts'
import { mapRoutes } from '../router.ts'
import { parseInstance } from './instance.ts'
import { inventoryRoutes, type K8spluginRoute, k8spluginRoutes } from './routes.ts'
import { listInstances, showInstance, showStatus } from './shown.ts'
import { parseInstanceStatus, roomForStatus } from './status.ts'
import { keepInventory, subscriptionMethods } from './subscriptions.ts'

/** Bytes. A body has whole objects. Helm stores a compressed release in one object of at most 1.5 MiB. */
const bodyLimit = 8 << 20
const instance = largeJson(bodyLimit)
const status = largeJson(bodyLimit, roomForStatus)

export const k8splugin: Dialect = {
  name: 'k8splugin',
  contract: async () => (await import('./contract.ts')).k8spluginContract,
  suggested: ['GET /v1/instance'],
  routes: [...mapRoutes(k8spluginRoutes, methodsOf), ...mapRoutes(inventoryRoutes, keepInventory)],
}

function methodsOf(route: K8spluginRoute): Methods {
  switch (route.of) {
    case 'instances':
      return { GET: listInstances }
    case 'instance': {
      const { instanceId } = route
      return {
        GET: showInstance(instanceId),
        PUT: recording('putInstance', instance, (body) => readInstance(instanceId, body)),
        DELETE: recording('removeInstance', null, () =>
          reading({ of: 'removal', instanceId }, (outcome) => answerOf(instanceId, outcome)),
        ),
      }
    }
    case 'status': {
      const { instanceId } = route
      return {
        GET: showStatus(instanceId),
        PUT: recording('putInstanceStatus', status, (body, readers) => readStatus(instanceId, body, readers)),
      }
    }
    default:
      return subscriptionMethods(route)
  }
}

function readInstance(instanceId: string, body: unknown) {
  return reading({ of: 'instance', instance: parseInstance(body, instanceId) }, (outcome) => ({
    ...answerOf(instanceId, outcome),
    status: outcome.isNew ? 201 : 200,
  }))
}

/** Responds with one verdict for the snapshot, and a refusal for each unreadable object. */
async function readStatus(instanceId: string, body: unknown, readers: Readers) {
  const items = await paced(parseInstanceStatus(body, await namespaceOf(readers, instanceId)))
  const objects = items.flatMap((item) => (item.ok ? [item.object] : []))
  return reading({ of: 'objects', instanceId, objects }, (outcome) => {
    const { verdict } = outcome
    const results = items.map((item) => (item.ok ? { verdict } : { verdict: 'REFUSED', errors: item.problems }))
    return answerOf(instanceId, outcome, { results })
  })
}

function answerOf(id: string, { verdict, revision }: { verdict: string; revision: number }, more: object = {}) {
  return { status: 200, json: { id, verdict, revision: String(revision), ...more } }
}

async function namespaceOf(readers: Readers, instanceId: string): Promise<string | null> {
  const instance = await readers.instance(instanceId)
  const document = instance && (await readers.documents([instance.key])).get(instance.key)
  const { namespace } = (document ?? {}) as { readonly namespace?: unknown }
  return typeof namespace === 'string' && namespace !== '' ? namespace : null
}
