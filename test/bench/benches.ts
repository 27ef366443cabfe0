/** All benchmarks, in the order in which they run. */
import { against, againstEmbedded } from './benches/against.ts'
import { alerts } from './benches/alerts.ts'
import { bystanders } from './benches/bystanders.ts'
import { crowd } from './benches/crowd.ts'
import { dashboard } from './benches/dashboard.ts'
import { desired } from './benches/desired.ts'
import { endToEnd } from './benches/end-to-end.ts'
import { expiry } from './benches/expiry.ts'
import { fanOut } from './benches/fan-out.ts'
import { footprint } from './benches/footprint.ts'
import { forecast } from './benches/forecast.ts'
import { growth } from './benches/growth.ts'
import { hour } from './benches/hour.ts'
import { identity } from './benches/identity.ts'
import { ingest } from './benches/ingest.ts'
import { ingestEmbedded } from './benches/ingest-embedded.ts'
import { liveQueries, moreLiveQueries } from './benches/live-queries.ts'
import { logGrowth } from './benches/log-growth.ts'
import { memory } from './benches/memory.ts'
import { hundredThousand, million } from './benches/million.ts'
import { mqtt } from './benches/mqtt.ts'
import { query } from './benches/query.ts'
import { resumeStorm } from './benches/resume-storm.ts'
import { selective } from './benches/selective.ts'
import { groups, series } from './benches/series.ts'
import { soak } from './benches/soak.ts'
import { ownCores, writers } from './benches/writers.ts'
import type { Bench } from './harness/bench.ts'

export const benches: readonly Bench[] = [
  ingest,
  ingestEmbedded,
  against,
  againstEmbedded,
  identity,
  mqtt,
  writers,
  ownCores,
  alerts,
  query,
  dashboard,
  fanOut,
  selective,
  bystanders,
  crowd,
  liveQueries,
  moreLiveQueries,
  endToEnd,
  desired,
  resumeStorm,
  series,
  groups,
  growth,
  logGrowth,
  expiry,
  memory,
  footprint,
  hour,
  forecast,
  soak,
  million,
  hundredThousand,
]
