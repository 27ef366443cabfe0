/** Margo's seven status routes, native each: clients that sign the target URI cannot be rewritten to (docs/wire.md §1.1). */
import { complain, type Problems, refusal, shown } from './problems.ts'
import { readId } from './text.ts'

export type Era = '2024' | '2025' | '2025-08' | '2025-10' | '2025-11' | '2025-12' | '1.0.0-rc.3'

export interface MargoRoute {
  readonly deploymentId: string
  /** The path's device or client; null where the caller is known by its credential. */
  readonly reporter: string | null
  /** What that era's clients take for success. */
  readonly success: 200 | 201
  /** Whether the body must carry an adoptedManifestVersion. */
  readonly requiresVersion: boolean
  readonly era: Era
}

/** The reference server puts every route behind /v1alpha2/margo, clients put the later three behind /margo too. */
export const reference = '(?:/v1alpha2/margo)?'
export const later = '(?:(?:/v1alpha2)?/margo)?'
/** Where the route itself begins with /margo, the reference server's agents do not say it twice. */
export const sbi = '(?:/v1alpha2(?:/margo)?)?'

const matchers = [
  createMatcher('2024', 201, reference, '/device/{deviceId}/deployment/{deploymentId}/status'),
  createMatcher('2025', 201, reference, '/api/v1/device/{deviceId}/deployment/{deploymentId}/status'),
  createMatcher('2025-08', 201, sbi, '/margo/sbi/v1/device/{deviceId}/deployment/{deploymentId}/status'),
  createMatcher('2025-10', 201, sbi, '/margo/sbi/v1/client/{clientId}/deployment/{deploymentId}/status'),
  createMatcher('2025-11', 200, later, '/api/v1/clients/{clientId}/deployment/{deploymentId}/status'),
  createMatcher('2025-12', 200, later, '/api/v1/clients/{clientId}/deployments/{deploymentId}/status'),
  createMatcher('1.0.0-rc.3', 200, later, '/api/v1/deployments/{deploymentId}/status'),
]

/**
 * Null: not one of Margo's. `path` is the request's as sent, without its query: ids are decoded here, so that %2F stays part of one.
 * Throws SEMANTIC_ERROR that names deviceId, clientId or deploymentId when it is empty, too long or cannot be decoded.
 */
export function matchMargoRoute(path: string): MargoRoute | null {
  if (!path.endsWith('/status')) return null
  for (const match of matchers) {
    const route = match(path)
    if (route !== null) return route
  }
  return null
}

function createMatcher(era: Era, success: 200 | 201, prefix: string, template: string) {
  const reporterField = /deviceId|clientId/.exec(template)?.[0] ?? null
  const pattern = new RegExp(
    `^${prefix}${template.replace(/\{(deviceId|clientId)\}/, id('reporter')).replace('{deploymentId}', id('deploymentId'))}$`,
  )
  return (path: string): MargoRoute | null => {
    const ids = pattern.exec(path)?.groups
    if (ids === undefined) return null
    const problems: Problems = { list: null }
    const reporter = reporterField === null ? null : readPathId(problems, reporterField, ids.reporter)
    const deploymentId = readPathId(problems, 'deploymentId', ids.deploymentId)
    if (problems.list !== null || deploymentId === null) throw refusal(problems.list ?? [], 'The path')
    return { deploymentId, reporter, success, requiresVersion: reporterField === null, era }
  }
}

export function id(group: string): string {
  return `(?<${group}>[^/]*)`
}

export function readPathId(problems: Problems, field: string, encoded = ''): string | null {
  try {
    return readId(problems, field, encoded.includes('%') ? decodeURIComponent(encoded) : encoded)
  } catch {
    complain(problems, field, `must be percent-encoded UTF-8, but is ${shown(encoded)}`)
    return null
  }
}
