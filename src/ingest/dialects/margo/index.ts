/** Margo (docs/wire.md §1): what devices report, describe and fetch, in every generation. */
import { isUtf8 } from 'node:buffer'
import { deepest, parseJson } from '../../../platform/body/json.ts'
import type { BodyRule } from '../../../platform/body/rule.ts'
import { decodeDamaged } from '../../../platform/body/utf8.ts'
import type { BacklogFormat, DesiredFormat, ReportFormat } from '../devices.ts'
import type { Dialect, Methods } from '../dialect.ts'
import { mapRoutes } from '../router.ts'
import { acknowledgement } from './acknowledge.ts'
import { backlogMediaTypes, largestReport, parseBacklog } from './backlog.ts'
import { createBundle } from './bundle.ts'
import { desiredRoutes } from './desired-routes.ts'
import { deviationsOf, deviationsOfRefusal } from './deviations.ts'
import { type DeviceRoute, deviceRoutes } from './device-routes.ts'
import { parseCapabilities, parseOnboarding } from './introduction.ts'
import { bundleMediaType, createManifest, manifestMediaType } from './manifest.ts'
import { margoDialects, nonConforming, parseMargoBody, parseReportText, reportMediaTypes } from './parse.ts'
import { statusPaths, statusRoutes } from './routes.ts'

export const margoReports: ReportFormat = {
  media: reportMediaTypes,
  limit: largestReport,
  read: async (body, contentType, route) =>
    parseMargoBody(await parseReportText(body, contentType), route, isUtf8(body)),
  deviationsOf,
  deviationsOfRefusal,
  isNonConforming: nonConforming,
  acknowledge: acknowledgement,
}

const backlog: BacklogFormat = {
  media: backlogMediaTypes,
  limit: 32 << 20,
  reports: margoReports,
  read: parseBacklog,
  resultOf(outcome) {
    const { acknowledgement: _, ...result } = acknowledgement(outcome)
    return result
  },
}

export const margoDesired: DesiredFormat = {
  manifestType: manifestMediaType,
  bundleType: bundleMediaType,
  documentType: 'application/yaml',
  createManifest,
  createBundle,
}

const small: BodyRule = { media: ['application/json'], limit: 256 << 10, parse: (bytes) => parseJson(bytes) }
const description: BodyRule = { ...small, parse: (bytes) => parseJson(bytes, deepest, decodeDamaged) }

const fetching = { manifest: 'fetchManifest', document: 'fetchDocument', bundle: 'fetchBundle' } as const

export const margo: Dialect = {
  name: 'margo',
  contract: async () => (await import('./contract.ts')).margoContract,
  generations: margoDialects,
  suggested: [...statusPaths, '/reports'].map((path) => `POST ${path}`),
  routes: [
    ...mapRoutes(
      statusRoutes,
      (route): Methods => ({
        POST: { operation: 'reportStatus', does: 'report', format: margoReports, route, success: route.success },
      }),
    ),
    ...mapRoutes(
      desiredRoutes,
      (fetched): Methods => ({ GET: { operation: fetching[fetched.kind], does: 'fetch', ...fetched } }),
    ),
    ...mapRoutes(deviceRoutes, deviceMethods),
    {
      template: '/reports',
      read: () => ({ POST: { operation: 'reportBacklog', does: 'report many', format: backlog } }),
    },
  ],
}

function deviceMethods(route: DeviceRoute): Methods {
  if (route.kind === 'onboarding')
    return {
      POST: { operation: 'onboard', does: 'onboard', body: small, readCertificate: parseOnboarding },
      DELETE: { operation: 'offboard', does: 'offboard' },
    }
  if (route.kind === 'certificate') return { GET: { operation: 'showAuthority', does: 'show authority' } }
  const { reporter, deviceId } = route
  const describing = {
    operation: deviceId === null && reporter === null ? 'sendOwnCapabilities' : 'sendCapabilities',
    does: 'describe',
    body: description,
    reporter,
    deviceId,
    generation: `margo/${route.generation}`,
    showsFirst: route.generation === '1.0.0-rc.3',
    read: (body: unknown, sent: Uint8Array) => parseCapabilities(body, deviceId, isUtf8(sent)),
    acknowledgement: { acknowledgement: 'received' },
  } as const
  return {
    ...{ POST: describing, PUT: describing },
    ...(deviceId !== null && {
      DELETE: { operation: 'withdrawCapabilities', does: 'withdraw description', reporter, deviceId },
    }),
  }
}
