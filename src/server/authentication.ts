/** Composes authentication: callers of the API, devices, sign-in, and the audit log of refused credentials. */

import { createApiAuth } from '../api/auth/api/api-auth.ts'
import { createCredentials } from '../api/auth/api/credentials.ts'
import { createAuditTrail } from '../api/auth/audit-trail.ts'
import { createDeviceAuth } from '../api/auth/devices/device-auth.ts'
import { createNoteRefused } from '../api/auth/devices/refused-credentials.ts'
import type { Trust } from '../api/auth/devices/trust.ts'
import type { Dialect } from '../ingest/dialects/dialect.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Metrics } from '../outlets/metrics/metrics.ts'
import type { Admission } from '../platform/limits/admission.ts'
import type { Log } from '../platform/log/log.ts'
import type { Database } from '../store/database.ts'
import { listApiKeys } from '../store/read/api-access.ts'
import { openSignIn } from './attachments.ts'
import type { Config } from './config/config.ts'
import type { Outage } from './log/outage.ts'

interface AuthenticationDeps {
  readonly config: Config
  readonly dialects: readonly Dialect[]
  readonly database: Database
  readonly writer: Writer
  readonly trust: Trust | null
  readonly admission: Admission
  readonly metrics: Metrics
  readonly log: Log
  readonly warn: Outage['note']
  readonly clock: () => number
}

export async function createAuthentication(deps: AuthenticationDeps) {
  const { config, database, writer, admission, metrics, log, warn, clock } = deps
  const { publicUrl, corsOrigins: origins, isOpenOnLoopback } = config.server
  const trail = createAuditTrail({
    writer,
    clock,
    failed: warn('refused credentials were not written to the audit log'),
  })
  const auth = createApiAuth({
    config: config.auth.api,
    database,
    writer,
    clock,
    refused({ token, address }, outcome) {
      trail.refused({
        caller: '',
        credential: token === null ? 'session' : 'token',
        address,
        action: 'the API',
        outcome,
      })
    },
  })
  database.onAccessChange(() => void auth.recheck().catch(() => undefined))
  const credentials = createCredentials({ addresses: admission.addresses, publicUrl, origins, isOpenOnLoopback })
  const templates = deps.dialects.flatMap(({ routes }) => routes.map(({ template }) => template))
  const refused = createNoteRefused({ metrics, trail, log, addressOf: admission.addresses.of, templates })
  const devices = createDeviceAuth({
    config: config.auth.device,
    database,
    writer,
    trust: deps.trust,
    publicUrl,
    isTrusted: admission.addresses.isTrusted,
    clock,
    refused,
  })
  const sites = createDeviceAuth({
    ...{ config: { ...config.auth.device, methods: ['token'], jwt: null }, kind: 'SITE' },
    ...{ database, writer, clock, refused },
  })
  const oidc = await openSignIn(config, {
    ...{ database, writer, auth, credentials, publicUrl, log, clock },
    refused(address, outcome) {
      const refusal = { caller: '', credential: 'oidc', address, action: 'signIn', outcome }
      if (trail.refused(refusal)) log.warn({ address }, `refused: ${outcome}`)
    },
  })
  await warnWithoutKey(deps)
  return { auth, credentials, devices, sites, refused, trail, oidc }
}

/** A new database has no keys, and only a caller with a key makes others. */
async function warnWithoutKey({ config: { auth }, database, log, clock }: AuthenticationDeps): Promise<void> {
  const { methods, adminKey } = auth.api
  if (adminKey !== null || methods.some((method) => method !== 'key')) return
  const keys = await listApiKeys(database.session)
  if (!keys.some(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > clock())))
    log.warn({}, 'API_AUTH is "key" and there is no valid key, so no caller can use the API: set API_ADMIN_KEY')
}
