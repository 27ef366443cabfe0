/** The variables that say how devices authenticate. */
import { z } from 'zod'
import type { DeviceAuthConfig } from '../../api/auth/devices/device-auth.ts'
import { secureUrl } from './addresses.ts'
import { anyOf, type certificateHeader, flag, secret, signatureWindow, skew, trustDomains } from './values.ts'

export const deviceAuthVariables = {
  DEVICE_AUTH: anyOf(['open', 'token', 'signature', 'mtls']).optional(),
  DEVICE_PROVISION: flag.default(false),
  DEVICE_JWT_JWKS_URL: secureUrl.nullable().default(null),
  DEVICE_JWT_SECRET: secret(32).nullable().default(null),
  DEVICE_JWT_ISSUER: z.string().nullable().default(null),
  DEVICE_JWT_AUDIENCE: z.string().nullable().default(null),
  DEVICE_JWT_CLOCK_SKEW: skew.default(30),
  DEVICE_JWT_CLAIM: z.string().default('sub'),
  SIGNATURE_WINDOW: signatureWindow.default(300),
  SPIFFE_TRUST_DOMAIN: trustDomains.default([]),
}

type Given = z.infer<z.ZodObject<typeof deviceAuthVariables>> & {
  readonly CLIENT_CERT_HEADER: z.infer<typeof certificateHeader>
}

export function deviceAuthConfig(v: Given): DeviceAuthConfig {
  return {
    methods: v.DEVICE_AUTH ?? ['open'],
    provision: v.DEVICE_PROVISION,
    jwt: jwtOf(v),
    signature: { window: v.SIGNATURE_WINDOW },
    certificate: { trustDomains: v.SPIFFE_TRUST_DOMAIN, isOverwritten: v.CLIENT_CERT_HEADER === 'overwritten' },
  }
}

function jwtOf(v: Given): DeviceAuthConfig['jwt'] {
  if (v.DEVICE_JWT_JWKS_URL === null && v.DEVICE_JWT_SECRET === null) return null
  return {
    jwksUrl: v.DEVICE_JWT_JWKS_URL,
    secret: v.DEVICE_JWT_SECRET,
    issuer: v.DEVICE_JWT_ISSUER,
    audience: v.DEVICE_JWT_AUDIENCE,
    clockSkew: v.DEVICE_JWT_CLOCK_SKEW,
    claim: v.DEVICE_JWT_CLAIM,
  }
}
