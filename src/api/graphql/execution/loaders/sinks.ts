/** The reads of sinks and API keys of one snapshot (reader.ts). */
import type { Snapshot } from '../../../../store/database.ts'
import { findApiKey } from '../../../../store/read/api-access.ts'
import { countDeliveries, deliveriesByKey, pageDeliveries } from '../../../../store/sinks/deliveries.ts'
import { lagsOf, sinksByKey } from '../../../../store/sinks/sinks.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'

export function sinkLoaders(s: Snapshot) {
  return {
    apiKey: remembered((id: string) => findApiKey(s, id)),
    sink: batched((keys: readonly number[]) => sinksByKey(s, keys)),
    sinkLag: batched((keys: readonly number[]) => lagsOf(s, keys)),
    delivery: batched((keys: readonly number[]) => deliveriesByKey(s, keys)),
    deliveries: batched((keys: readonly number[], page: PageRequest) => pageDeliveries(s, keys, page)),
    deliveryCount: batched((keys: readonly number[]) => countDeliveries(s, keys)),
  }
}
