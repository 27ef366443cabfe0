/** What servers of sites send (domain/sites/batch.ts), and where this server is in their logs. */
import { type Received, receiveBatch, standingOf } from '../../../ingest/commands/sites/receive.ts'
import type { Sender } from '../../../ingest/commands/sites/sender.ts'
import type { Writer } from '../../../ingest/writer.ts'
import { parseLargeJson } from '../../../platform/body/json.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import { acceptedCodings } from '../../../platform/limits/content-coding.ts'
import { paced } from '../../../platform/limits/pace.ts'
import type { Database } from '../../../store/database.ts'
import { siteOf } from '../../../store/read/sites.ts'
import type { DeviceAuth } from '../../auth/devices/device-auth.ts'
import { authenticate, emptyBody } from '../devices/device-caller.ts'
import { type Exchange, type Methods, readBody, requireMediaType, sendJson, tracedBy } from '../exchange.ts'
import { readBatch } from './read-batch.ts'

export interface SiteDeps {
  readonly sites: DeviceAuth
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  readonly admission: Pick<Admission, 'admitDevice'>
}

const media = ['application/json']
/** Bytes of a batch, without its compression: of 2,000 facts, each with some of the longest errors. */
const limit = 8 << 20

export function siteMethods(deps: SiteDeps): Methods {
  return {
    GET: {
      access: 'public',
      async handle(exchange) {
        const sender = await senderOf(deps, exchange)
        exchange.response.setHeader('accept-encoding', acceptedCodings)
        sendJson(exchange, 200, standingOf(sender, sender.stored))
      },
    },
    POST: {
      access: 'public',
      media,
      limit,
      async handle(exchange) {
        requireMediaType(exchange.request, media)
        // Before the body: a stranger's is not read.
        const sender = await senderOf(deps, exchange)
        const body = await parseLargeJson(await readBody(exchange, limit), {})
        const batch = await paced(readBatch(body))
        const received: Received = await deps.writer.submit(tracedBy(exchange, receiveBatch(sender, batch)))
        if ('standing' in received) sendJson(exchange, 409, received.standing)
        else sendJson(exchange, 200, { position: received.taken })
      },
    },
  }
}

async function senderOf({ sites, database, admission }: SiteDeps, exchange: Exchange) {
  const { device: path } = await authenticate({ devices: sites }, exchange, emptyBody)
  const found = path === null ? null : await siteOf(database.session, path)
  if (!found) throw new Error('a credential was accepted that no site has')
  admission.admitDevice(path ?? '')
  return found satisfies Sender
}
