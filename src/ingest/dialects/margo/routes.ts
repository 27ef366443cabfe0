/** Margo's seven status routes, each matched as sent. A rewrite to one route would break clients that sign the target URI (docs/wire.md §1.1). */
import type { ReportRoute } from '../devices.ts'
import { type Route, readIds } from '../router.ts'

export type Generation = '2024' | '2025' | '2025-08' | '2025-10' | '2025-11' | '2025-12' | '1.0.0-rc.3'

export interface MargoRoute extends ReportRoute {
  readonly deploymentId: string
  /** The status code that clients of that generation expect. */
  readonly success: 200 | 201
  readonly generation: Generation
}

/** The reference server puts every route behind /v1alpha2/margo. Clients also put the later three behind /margo. */
export const reference = ['', '/v1alpha2/margo']
export const later = ['', '/margo', '/v1alpha2/margo']
/** The route itself begins with /margo, so the reference server's agents do not repeat it. */
export const sbi = ['', '/v1alpha2', '/v1alpha2/margo']

const generations = [
  ['2024', 201, reference, '/device/:deviceId/deployment/:deploymentId/status'],
  ['2025', 201, reference, '/api/v1/device/:deviceId/deployment/:deploymentId/status'],
  ['2025-08', 201, sbi, '/margo/sbi/v1/device/:deviceId/deployment/:deploymentId/status'],
  ['2025-10', 201, sbi, '/margo/sbi/v1/client/:clientId/deployment/:deploymentId/status'],
  ['2025-11', 200, later, '/api/v1/clients/:clientId/deployment/:deploymentId/status'],
  ['2025-12', 200, later, '/api/v1/clients/:clientId/deployments/:deploymentId/status'],
  ['1.0.0-rc.3', 200, later, '/api/v1/deployments/:deploymentId/status'],
] as const

export const statusRoutes: readonly Route<MargoRoute>[] = generations.flatMap(([generation, success, prefixes, path]) =>
  routesOf(generation, success, prefixes, path),
)

/** As documents write them. */
export const statusPaths = generations.map(([, , , path]) => path.replace(/:(\w+)/g, '{$1}'))

function routesOf(
  generation: Generation,
  success: 200 | 201,
  prefixes: readonly string[],
  path: string,
): Route<MargoRoute>[] {
  return prefixes.map((prefix) => ({
    template: prefix + path,
    copy: { prefix, of: generation },
    read(segments) {
      const { deploymentId = '', deviceId, clientId } = readIds(segments)
      const reporter = deviceId ?? clientId ?? null
      return { deploymentId, reporter, success, requiresVersion: reporter === null, generation }
    },
  }))
}
