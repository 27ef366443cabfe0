/** The routes of devices besides reports and desired state: onboarding, capabilities, and the authority of the server's certificate. */

import { DomainError } from '../../../domain/errors.ts'
import type { DeviceRoute } from '../../../ingest/dialects/margo/device-routes.ts'
import { answer, type Exchange, type Methods } from '../exchange.ts'
import { authorityOf } from '../tls/tls-files.ts'
import type { TlsWatch } from '../tls/tls-watch.ts'
import { type CapabilitiesDeps, dropCapabilities, takeCapabilities } from './capabilities.ts'
import { type OnboardingDeps, offboard, takeOnboarding } from './onboarding.ts'

export interface DeviceDeps extends OnboardingDeps, CapabilitiesDeps {
  readonly tls?: Pick<TlsWatch, 'files'> | null
}

export function deviceMethods(deps: DeviceDeps, route: DeviceRoute): Methods {
  if (route.kind === 'onboarding')
    return {
      POST: { access: 'device', handle: (exchange) => takeOnboarding(deps, exchange) },
      DELETE: { access: 'device', handle: (exchange) => offboard(deps, exchange) },
    }
  if (route.kind === 'certificate')
    return { GET: { access: 'public', handle: (exchange) => sendAuthority(deps, exchange) } }
  const take = { access: 'device', handle: (exchange: Exchange) => takeCapabilities(deps, exchange, route) } as const
  const drop = { access: 'device', handle: (exchange: Exchange) => dropCapabilities(deps, exchange, route) } as const
  return { POST: take, PUT: take, ...(route.deviceId !== null && { DELETE: drop }) }
}

/** Sends the authority of the server's certificate. A client that has not verified the server yet cannot rely on the response. */
async function sendAuthority({ tls }: DeviceDeps, exchange: Exchange): Promise<void> {
  const authority = tls ? authorityOf(tls.files().cert) : null
  if (authority === null)
    throw new DomainError('NOT_FOUND', 'TLS_CERT has no certificate of an authority above that of this server')
  const certificate = Buffer.from(authority).toString('base64')
  answer(exchange, 200, 'application/json', JSON.stringify({ certificate }))
}
