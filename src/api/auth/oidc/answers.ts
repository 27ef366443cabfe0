/** What an issuer answers, before it is shown to a person or sent to a browser: bounded, and a text that can be shown. */
import * as client from 'openid-client'
import { hasUnseen, isStorable } from '../../../domain/text.ts'

export interface DeviceCodes {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | null
  /** Seconds. */
  readonly expiresIn: number
  readonly interval: number
}

/** Characters. Browsers and proxies take no longer address. */
const longestUrl = 4_096
/** Of a code that a person types, and of one that only programs see. */
const [longestUserCode, longestDeviceCode] = [64, 8_192]
/** Seconds. */
const [longestInterval, longestWait] = [60, 3_600]

/** The addresses of the issuer. Throws ClientError. */
export function requireAddresses(metadata: client.ServerMetadata): void {
  for (const [name, value] of Object.entries(metadata))
    if (/(_endpoint|_uri)$/.test(name) && typeof value === 'string') requireAddress(name, value)
}

function requireAddress(name: string, value: string): void {
  const url = value.length > longestUrl ? null : URL.parse(value)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new client.ClientError(`the issuer answers with a ${name.slice(0, 60)} that is no address`)
}

/** What a terminal shows. Throws ClientError. */
export function toDeviceCodes(codes: client.DeviceAuthorizationResponse): DeviceCodes {
  const { verification_uri: address, verification_uri_complete: complete = null } = codes
  requireAddress('verification_uri', address)
  if (complete !== null) requireAddress('verification_uri_complete', complete)
  const { user_code: userCode, device_code: deviceCode } = codes
  const isShown = userCode.length <= longestUserCode && !hasUnseen(userCode) && isStorable(userCode)
  if (!isShown || deviceCode.length > longestDeviceCode)
    throw new client.ClientError('the issuer answers with a code that cannot be shown')
  return {
    deviceCode,
    userCode,
    verificationUri: new URL(address).href,
    verificationUriComplete: complete === null ? null : new URL(complete).href,
    expiresIn: Math.min(codes.expires_in, longestWait),
    interval: Math.min(Math.max(codes.interval ?? 5, 1), longestInterval),
  }
}
