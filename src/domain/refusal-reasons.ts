/** How devices are authenticated, and why a credential is refused. */
export const deviceAuthMethods = ['open', 'token', 'signature', 'mtls'] as const
export type DeviceAuthMethod = (typeof deviceAuthMethods)[number]

/** A fixed set, because the reasons are labels of a metric. */
export const refusalReasons = [
  'missing',
  'malformed',
  'unknown',
  'untrusted',
  'expired',
  'revoked',
  'retired',
  'digest',
  'signature',
  'replayed',
  'claims',
  'disagreeing',
  'not-its-own',
] as const
export type RefusalReason = (typeof refusalReasons)[number]
