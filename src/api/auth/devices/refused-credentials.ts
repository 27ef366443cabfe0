/** Records a refused credential of a device, over any transport: in a metric, in the audit log and in the log. */
import type { IncomingMessage } from 'node:http'
import type { Metrics } from '../../../outlets/metrics/metrics.ts'
import type { Log } from '../../../platform/log/log.ts'
import type { AuditTrail } from '../audit-trail.ts'
import type { Refused } from './device-auth.ts'

interface RefusedCredentialsDeps {
  readonly metrics: Pick<Metrics, 'credentialRefused'>
  readonly trail: Pick<AuditTrail, 'refused'>
  readonly log: Log
  readonly addressOf: (request: IncomingMessage) => string
  /** Of the routes of devices. */
  readonly templates: readonly string[]
}

export function createNoteRefused({
  metrics,
  trail,
  log,
  addressOf,
  templates,
}: RefusedCredentialsDeps): (refused: Refused) => void {
  // All else in a path was chosen by the client.
  const words = new Set(templates.flatMap((template) => template.split('/')).concat(ownWords))
  return ({ method, reason, message, device, request }) => {
    metrics.credentialRefused({ method, reason })
    const path = templateOf(request.url ?? '', words)
    const address = addressOf(request)
    const refusal = { caller: device ?? '', credential: `device ${method}`, address, action: path, outcome: message }
    if (trail.refused(refusal)) log.warn({ method, reason, address, path }, `refused: ${message.slice(0, 200)}`)
  }
}

/** In paths of Git and topics of MQTT. */
const ownWords = ['devices', 'git', 'git-receive-pack', 'git-upload-pack', 'info', 'refs']
const mostParts = 12

/** Replaces variable parts. Otherwise each device and each guess would produce a line of its own. */
function templateOf(url: string, words: ReadonlySet<string>): string {
  const cut = url.indexOf('?')
  const parts = url.slice(1, cut < 0 ? 2_048 : cut).split('/', mostParts)
  return `/${parts.map((part) => (words.has(part) || part === '' ? part : '{}')).join('/')}`
}
