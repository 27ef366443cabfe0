/**
 * Parts that are loaded only where they are needed: sign-in, trust in an identity service, MQTT, exports and the archive, traces, the server above. Each is a folder that only this file and the file
 * of its variables import (test/architecture.test.ts), and is loaded only where it is configured (test/loading.test.ts).
 */
import type { TrustDeps } from '../api/auth/identity/trust.ts'
import type { OidcDeps } from '../api/auth/oidc/oidc.ts'
import { type McpRoutesDeps, openMcp } from '../api/mcp/routes.ts'
import type { MqttDeps } from '../api/mqtt/mqtt.ts'
import type { RequestTracesOptions } from '../outlets/traces/requests.ts'
import type { TracesOptions } from '../outlets/traces/traces.ts'
import type { UpstreamDeps } from '../outlets/upstream/upstream.ts'
import type { Database } from '../store/database.ts'
import type { Config } from './config/config.ts'

/** The routes are always there. What serves them is loaded with the first request. */
export { exportRoutes } from '../api/export/routes.ts'

export function openAssistants(
  { mcp, auth, server }: Config,
  deps: Omit<McpRoutesDeps, 'isWriting' | 'issuers' | 'publicUrl'>,
) {
  // Clients find an issuer by its URL.
  const ofPersons = auth.oidc?.resource ? auth.oidc.issuer : []
  const issuers = [auth.api.jwt?.issuer ?? ofPersons].flat().filter((issuer) => /^https?:/.test(issuer))
  return mcp && openMcp({ ...deps, ...mcp, issuers, publicUrl: server.publicUrl })
}

/** For servers that execute only listed documents. */
export const readAssistantDocuments = async () => (await import('../api/mcp/documents.ts')).assistantDocuments

export async function openSignIn({ auth: { oidc: config } }: Config, deps: Omit<OidcDeps, 'config'>) {
  return config && (await import('../api/auth/oidc/oidc.ts')).createOidc({ ...deps, config })
}

/** Trust in an identity service. */
export async function openTrust({ auth: { identity: config } }: Config, deps: Omit<TrustDeps, 'config'>) {
  return config && (await import('../api/auth/identity/trust.ts')).openTrust({ ...deps, config })
}

export async function openMqtt({ mqtt: config }: Config, deps: Omit<MqttDeps, 'config'>) {
  return config && (await import('../api/mqtt/mqtt.ts')).createMqtt({ ...deps, config })
}

/** `signal`: ends requests to a bucket. */
export async function openArchive({ archive: config }: Config, database: Database, signal: AbortSignal) {
  return config && (await import('../api/export/archive/open.ts')).openArchive(config, database, signal)
}

export async function openTraces({ traces: config }: Config, deps: Omit<TracesOptions, 'config'>) {
  return config && (await import('../outlets/traces/traces.ts')).createTraces({ ...deps, config })
}

/** The traces of the server's own requests. */
export async function openRequestTraces({ traces: config }: Config, deps: Omit<RequestTracesOptions, 'config'>) {
  if (config === null || config.requests === null) return null
  return (await import('../outlets/traces/requests.ts')).createRequestTraces({ ...deps, config })
}

/** The server above this one. */
export async function openUpstream({ upstream: config }: Config, deps: Omit<UpstreamDeps, 'config'>) {
  return config && (await import('../outlets/upstream/upstream.ts')).createUpstream({ ...deps, config })
}
