/** All benchmarks, in the order in which they run. */
import { dashboard } from './benches/dashboard.ts'
import { endToEnd } from './benches/end-to-end.ts'
import { fanOut } from './benches/fan-out.ts'
import { ingest } from './benches/ingest.ts'
import { ingestEmbedded } from './benches/ingest-embedded.ts'
import { memory } from './benches/memory.ts'
import { query } from './benches/query.ts'
import type { Bench } from './harness/bench.ts'

export const benches: readonly Bench[] = [ingest, ingestEmbedded, query, dashboard, endToEnd, fanOut, memory]
