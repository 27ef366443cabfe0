/** The routes for onboarding and for the capabilities of devices, in every generation. */
import { complain, type Problems, refusal } from '../../../platform/body/problems.ts'
import { type Route, readPathId } from '../router.ts'
import { readDeviceId } from './device-id.ts'
import { type Generation, later, reference, sbi } from './routes.ts'

export type DeviceRoute =
  | { readonly kind: 'onboarding'; readonly generation: Generation }
  | { readonly kind: 'certificate'; readonly generation: Generation }
  | {
      readonly kind: 'capabilities'
      readonly generation: Generation
      /** The path's device or client. Null: the credential identifies the caller. */
      readonly reporter: string | null
      /** The device that the capabilities describe. Null: the reporter. */
      readonly deviceId: string | null
    }

export const deviceRoutes: readonly Route<DeviceRoute>[] = [
  ...onboarding('2024', reference, '/onboarding'),
  ...onboarding('2025', later, '/api/v1/onboarding'),
  ...onboarding('2025-08', sbi, '/margo/sbi/v1/onboarding'),
  ...capabilities('2024', reference, '/device/:reporter/capabilities'),
  ...capabilities('2025', reference, '/api/v1/device/:reporter/capabilities'),
  ...capabilities('2025-08', sbi, '/margo/sbi/v1/device/:reporter/capabilities'),
  ...capabilities('2025-10', sbi, '/margo/sbi/v1/client/:reporter/capabilities'),
  ...capabilities('2025-11', later, '/api/v1/clients/:reporter/capabilities'),
  ...capabilities('2025-12', later, '/api/v1/clients/:reporter/capabilities/*'),
  ...capabilities('1.0.0-rc.3', later, '/api/v1/capabilities'),
  ...capabilities('1.0.0-rc.3', later, '/api/v1/capabilities/*'),
]

function onboarding(generation: Generation, prefixes: readonly string[], path: string): Route<DeviceRoute>[] {
  return prefixes.flatMap((prefix) => {
    const copy = { prefix, of: generation }
    return [
      { template: prefix + path, copy, read: () => ({ kind: 'onboarding', generation }) },
      { template: `${prefix}${path}/`, copy, read: () => ({ kind: 'onboarding', generation }) },
      { template: `${prefix}${path}/certificate`, copy, read: () => ({ kind: 'certificate', generation }) },
    ]
  })
}

function capabilities(generation: Generation, prefixes: readonly string[], path: string): Route<DeviceRoute>[] {
  return prefixes.map((prefix) => ({
    template: prefix + path,
    copy: { prefix, of: generation },
    read({ reporter, '*': children }) {
      const problems: Problems = { list: null }
      const ids = {
        reporter: reporter === undefined ? null : readPathId(problems, 'deviceId', reporter),
        deviceId: children === undefined ? null : readPath(problems, children),
      }
      if (problems.list !== null) throw refusal(problems.list, 'The path')
      return { kind: 'capabilities', generation, ...ids }
    },
  }))
}

/** Its slashes may be percent-encoded. */
function readPath(problems: Problems, encoded: string): string | null {
  try {
    return readDeviceId(problems, decodeURIComponent(encoded))
  } catch {
    complain(problems, 'deviceId', 'must be percent-encoded UTF-8')
    return null
  }
}
