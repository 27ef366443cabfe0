import { audit } from './audit.ts'
import { changes } from './changes.ts'
import { deployments } from './deployments.ts'
import { devices } from './devices.ts'
import type { Kind, KindName } from './kind.ts'
import { reports } from './reports.ts'

export const kinds: Readonly<Record<KindName, Kind>> = { changes, reports, deployments, devices, audit }
