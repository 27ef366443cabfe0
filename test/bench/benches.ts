/** All benchmarks, in the order in which they run. */
import { alerts } from './benches/alerts.ts'
import { dashboard } from './benches/dashboard.ts'
import { desired } from './benches/desired.ts'
import { endToEnd } from './benches/end-to-end.ts'
import { fanOut } from './benches/fan-out.ts'
import { forecast } from './benches/forecast.ts'
import { growth } from './benches/growth.ts'
import { ingest } from './benches/ingest.ts'
import { ingestEmbedded } from './benches/ingest-embedded.ts'
import { liveQueries } from './benches/live-queries.ts'
import { memory } from './benches/memory.ts'
import { hundredThousand, million } from './benches/million.ts'
import { mqtt } from './benches/mqtt.ts'
import { query } from './benches/query.ts'
import { resumeStorm } from './benches/resume-storm.ts'
import { selective } from './benches/selective.ts'
import { groups, series } from './benches/series.ts'
import { writers } from './benches/writers.ts'
import type { Bench } from './harness/bench.ts'

export const benches: readonly Bench[] = [
  ingest,
  ingestEmbedded,
  mqtt,
  writers,
  alerts,
  query,
  dashboard,
  fanOut,
  selective,
  liveQueries,
  endToEnd,
  desired,
  resumeStorm,
  series,
  groups,
  growth,
  memory,
  forecast,
  million,
  hundredThousand,
]
