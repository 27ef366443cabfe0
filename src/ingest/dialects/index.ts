/** The dialects that this server speaks. A new one is its folder and a line here. */
import type { DesiredFormat, ReportFormat } from './devices.ts'
import type { Dialect } from './dialect.ts'
import { emco } from './emco/index.ts'
import { k8splugin } from './k8splugin/index.ts'
import { margo, margoDesired, margoReports } from './margo/index.ts'

export const dialects: readonly Dialect[] = [margo, k8splugin, emco]

/** Of a report that has no route: one by MQTT. */
export const reportFormat: ReportFormat = margoReports

export const desiredFormat: DesiredFormat = margoDesired
