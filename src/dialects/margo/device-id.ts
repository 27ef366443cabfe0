import { complain, isAbsent, type Problems, shown } from './problems.ts'
import { readId } from './text.ts'

const hierarchical = /^[A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*$/

/** The body's deviceId, "gateway/child": optional, but never malformed. */
export function readDeviceId(problems: Problems, value: unknown): string | null {
  if (isAbsent(value)) return null
  const deviceId = readId(problems, 'deviceId', value)
  if (deviceId === null || hierarchical.test(deviceId)) return deviceId
  complain(
    problems,
    'deviceId',
    `must consist of letters, digits and . _ ~ -, in parts separated by single slashes as in gateway/child, but is ${shown(deviceId)}`,
  )
  return null
}
