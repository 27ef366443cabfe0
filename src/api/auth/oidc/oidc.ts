/** OIDC sign-in, composed. Only this folder loads openid-client, and only a server with OIDC_ISSUER loads this folder. */
import { DomainError } from '../../../domain/errors.ts'
import type { Principal } from '../../../domain/principal.ts'
import { networkOf } from '../../../platform/limits/address.ts'
import { createBuckets } from '../../../platform/limits/rate.ts'
import type { Log } from '../../../platform/log/log.ts'
import type { Credentials } from '../api/credentials.ts'
import type { OidcConfig } from './config.ts'
import { createIssuer } from './issuer.ts'
import { acceptLogoutToken } from './logout-token.ts'
import { principalOf } from './person.ts'
import { createOidcRoutes, type OidcRoutes } from './routes.ts'
import { createSeal } from './seal.ts'
import { createOidcSessions, type OidcSessionDeps } from './sessions.ts'
import { createSignIn } from './sign-in.ts'
import { createTerminalSignIn } from './terminal-sign-in.ts'

interface Oidc {
  /** What the page calls the issuer. */
  readonly name: string
  readonly routes: OidcRoutes
  /** The person whose client has this access token. Throws UNAUTHENTICATED, or UNAVAILABLE. */
  identify(token: string, address: string): Promise<Principal>
  close(): Promise<void>
}

export interface OidcDeps extends Pick<OidcSessionDeps, 'database' | 'writer' | 'auth' | 'clock'> {
  readonly config: OidcConfig
  readonly credentials: Credentials
  readonly publicUrl: string | null
  readonly log: Log
  /** Receives each refused sign-in. */
  readonly refused: (address: string, why: string) => void
}

/** Requests to the issuer that one address causes: as a burst, and milliseconds until one more. Otherwise Rollcall would pass a flood on to it. */
const [burst, refill] = [60, 500]

/** Milliseconds between looks for sessions that are due for a refresh. */
const interval = 1_000

export function createOidc(deps: OidcDeps): Oidc {
  const { config, database, clock, log, credentials, publicUrl, refused } = deps
  const issuer = createIssuer(config, clock, log)
  const seal = createSeal(config.clientSecret)
  const failed = (error: unknown): void =>
    log.warn({ error }, 'a session of OIDC was not refreshed: trying again until it expires')
  const revoking = new Set<Promise<void>>()
  /** In the background: a person who signs out does not wait for the issuer. */
  function revoke(refreshToken: string): void {
    const work = issuer
      .revoke(refreshToken)
      .catch((error: unknown) => log.warn({ error }, 'a token was not revoked at the issuer of OIDC'))
      .finally(() => revoking.delete(work))
    revoking.add(work)
  }
  const sessions = createOidcSessions({ ...deps, issuer, seal, failed, revoke })
  const takes = createBuckets(burst, refill)
  const signIn = createSignIn({ issuer, sessions, seal, database, clock })
  const terminalSignIn = createTerminalSignIn({ issuer, sessions, seal, clock })

  async function signOut(cookie: string, address: string, returnTo: string): Promise<string | null> {
    await sessions.signOut(cookie, address)
    // The session has ended here even if its issuer is unreachable.
    return issuer.endSessionUrl(returnTo).catch(() => null)
  }

  let working: Promise<void> | null = null
  const timer = setInterval(() => {
    working ??= sessions
      .refreshDue()
      .catch(failed)
      .finally(() => {
        working = null
      })
  }, interval)

  const routes = createOidcRoutes({
    issuer: config.issuer,
    name: config.name,
    credentials,
    publicUrl,
    signIn,
    terminalSignIn,
    signOut,
    admit(address) {
      if (takes(networkOf(address), clock())) return
      const facts = { retryAfterSeconds: 1 }
      throw new DomainError('TOO_MANY', 'too many sign-ins from this address: retry later', { facts })
    },
    acceptLogoutToken: (token, address) => acceptLogoutToken({ issuer, sessions, database, clock }, token, address),
    refused,
  })
  async function identify(token: string, address: string): Promise<Principal> {
    try {
      return principalOf(await issuer.verifyAccess(token), token, config)
    } catch (error) {
      if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') refused(address, error.message)
      throw error
    }
  }

  return {
    name: config.name,
    routes,
    identify,
    async close() {
      clearInterval(timer)
      await working
      await Promise.all(revoking)
    },
  }
}
