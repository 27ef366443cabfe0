/** Where devices say that they are there (onboarding) and what they can run (capabilities), in every generation of the routes. */
import { readDeviceId } from './device-id.ts'
import { complain, type Problems, refusal } from './problems.ts'
import { type Era, id, later, readPathId, reference, sbi } from './routes.ts'

export type DeviceRoute =
  | { readonly kind: 'onboarding'; readonly era: Era }
  | { readonly kind: 'certificate'; readonly era: Era }
  | {
      readonly kind: 'capabilities'
      readonly era: Era
      /** The path's device or client; null where the caller is known by its credential. */
      readonly reporter: string | null
      /** Whose capabilities they are; null: the reporter's. */
      readonly deviceId: string | null
    }

const children = '(?<deviceId>.+)'

const onboarding = [
  ['2024', `${reference}/onboarding`],
  ['2025', `${later}/api/v1/onboarding`],
  ['2025-08', `${sbi}/margo/sbi/v1/onboarding`],
] as const
const capabilities = [
  ['2024', `${reference}/device/${id('reporter')}/capabilities`],
  ['2025', `${reference}/api/v1/device/${id('reporter')}/capabilities`],
  ['2025-08', `${sbi}/margo/sbi/v1/device/${id('reporter')}/capabilities`],
  ['2025-10', `${sbi}/margo/sbi/v1/client/${id('reporter')}/capabilities`],
  ['2025-11', `${later}/api/v1/clients/${id('reporter')}/capabilities`],
  ['2025-12', `${later}/api/v1/clients/${id('reporter')}/capabilities/${children}`],
  ['1.0.0-rc.3', `${later}/api/v1/capabilities(?:/${children})?`],
] as const
const matchers = [
  ...onboarding.map(([era, pattern]) => ({ kind: 'onboarding' as const, era, pattern: new RegExp(`^${pattern}/?$`) })),
  ...onboarding.map(([era, pattern]) => ({
    kind: 'certificate' as const,
    era,
    pattern: new RegExp(`^${pattern}/certificate$`),
  })),
  ...capabilities.map(([era, pattern]) => ({
    kind: 'capabilities' as const,
    era,
    pattern: new RegExp(`^${pattern}$`),
  })),
]

/** Null: none of them. `path` is the request's as sent, without its query. Throws SEMANTIC_ERROR where an id of it is none. */
export function matchDeviceRoute(path: string): DeviceRoute | null {
  if (!path.includes('/onboarding') && !path.includes('/capabilities')) return null
  for (const { kind, era, pattern } of matchers) {
    const found = pattern.exec(path)
    if (found) return kind === 'capabilities' ? { kind, era, ...readIds(found.groups ?? {}) } : { kind, era }
  }
  return null
}

function readIds(groups: Readonly<Record<string, string | undefined>>) {
  const problems: Problems = { list: null }
  const reporter = groups.reporter === undefined ? null : readPathId(problems, 'deviceId', groups.reporter)
  const deviceId = groups.deviceId === undefined ? null : readPath(problems, groups.deviceId)
  if (problems.list !== null) throw refusal(problems.list, 'The path')
  return { reporter, deviceId }
}

/** Its slashes may be encoded or not. */
function readPath(problems: Problems, encoded: string): string | null {
  try {
    return readDeviceId(problems, decodeURIComponent(encoded))
  } catch {
    complain(problems, 'deviceId', 'must be percent-encoded UTF-8')
    return null
  }
}
