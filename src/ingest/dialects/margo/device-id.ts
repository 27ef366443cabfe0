import { type Body, complain, isAbsent, type Problems, shown } from '../../../platform/body/problems.ts'
import { readId } from '../../../platform/body/text.ts'

const idPattern = /^[A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*$/

/** The body's deviceId, "gateway/child". It is optional, but must be well-formed. */
export function readDeviceId(problems: Problems, value: unknown, field = 'deviceId'): string | null {
  if (isAbsent(value)) return null
  const deviceId = readId(problems, field, value)
  if (deviceId === null || idPattern.test(deviceId)) return deviceId
  complain(
    problems,
    field,
    `must consist of letters, digits and . _ ~ -, in parts separated by single slashes as in gateway/child, but is ${shown(deviceId)}`,
  )
  return null
}

/** The specification renames deviceId to targetName. Either may be sent, or both with the same value. */
export function readTargetName(problems: Problems, body: Body): string | null {
  const deviceId = readDeviceId(problems, body.deviceId)
  const targetName = readDeviceId(problems, body.targetName, 'targetName')
  if (deviceId !== null && targetName !== null && targetName !== deviceId)
    complain(problems, 'targetName', `must be the deviceId, ${shown(deviceId)}, but is ${shown(targetName)}`)
  return targetName ?? deviceId
}
