/** Serves what devices send and fetch. */

import { DomainError } from '../../../domain/errors.ts'
import type { DeviceMethod, Fetched } from '../../../ingest/dialects/devices.ts'
import { answer, type Exchange, type Route } from '../exchange.ts'
import { authorityOf } from '../tls/tls-files.ts'
import type { TlsWatch } from '../tls/tls-watch.ts'
import { type CapabilitiesDeps, dropCapabilities, takeCapabilities } from './capabilities.ts'
import { type OnboardingDeps, offboard, takeOnboarding } from './onboarding.ts'
import { type ReportDeps, takeBacklog, takeReport } from './reports.ts'

export interface DeviceDeps extends ReportDeps, Omit<OnboardingDeps & CapabilitiesDeps, keyof ReportDeps> {
  readonly tls?: Pick<TlsWatch, 'files'> | null
  readonly sendDesired: (exchange: Exchange, fetched: Fetched) => Promise<void>
}

export function serveDevice(deps: DeviceDeps, method: DeviceMethod): Route {
  if (method.does === 'show authority') return { access: 'public', handle: (exchange) => sendAuthority(deps, exchange) }
  return { access: 'device', handle: (exchange) => take(deps, exchange, method) }
}

function take(
  deps: DeviceDeps,
  exchange: Exchange,
  method: Exclude<DeviceMethod, { does: 'show authority' }>,
): Promise<void> {
  switch (method.does) {
    case 'report':
      return takeReport(deps, exchange, method)
    case 'report many':
      return takeBacklog(deps, exchange, method.format)
    case 'fetch':
      return deps.sendDesired(exchange, method)
    case 'onboard':
      return takeOnboarding(deps, exchange, method)
    case 'offboard':
      return offboard(deps, exchange)
    case 'describe':
      return takeCapabilities(deps, exchange, method)
    case 'withdraw description':
      return dropCapabilities(deps, exchange, method)
  }
}

/** Sends the authority of the server's certificate. A client that has not verified the server yet cannot rely on the response. */
async function sendAuthority({ tls }: DeviceDeps, exchange: Exchange): Promise<void> {
  const authority = tls ? authorityOf(tls.files().cert) : null
  if (authority === null)
    throw new DomainError('NOT_FOUND', 'TLS_CERT has no certificate of an authority above that of this server')
  const certificate = Buffer.from(authority).toString('base64')
  answer(exchange, 200, 'application/json', JSON.stringify({ certificate }))
}
