/** A client that does not read the answer to a status query: how long the snapshot waits for it, and how much of the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { show } from '../../../src/api/rest/dialects/serve.ts'
import { everyone } from '../../../src/domain/principal.ts'
import { showStatus } from '../../../src/ingest/dialects/emco/status.ts'
import { createAdmission } from '../../../src/platform/limits/admission.ts'
import { createDeadline } from '../../../src/platform/limits/deadline.ts'
import type { Database } from '../../../src/store/database.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { groupOf, newContext } from '../../support/systems/emco.ts'

const mebibyte = 1 << 20

describe.each(stores)('a client that does not read an EMCO status, on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let server: RunningApp
  beforeAll(async () => {
    empty = await store.create()
    const open = async () => {
      database = await empty.open()
      return database
    }
    server = await startApp({ on: { ...empty, open } })
  })
  afterAll(async () => {
    await server.stop()
    await empty.drop()
  })

  /** Asks for a status of so many resources, of 100,000 bytes each. */
  async function ask(resources: number) {
    const key = { project: 'p', compositeApp: 'ca', compositeAppVersion: 'v1', name: `group-${resources}` }
    const emco = groupOf(server, key)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    const detail = { spec: 'x'.repeat(100_000) }
    const list = Array.from({ length: resources }, (_, index) => ({ name: `n${index}`, detail }))
    await emco.apply(context, list)
    const unread = Object.assign(new Writable({ write() {} }), { writeHead() {} })
    let open = 0
    const counting: Database = {
      ...database,
      async snapshot(...given) {
        const snapshot = await database.snapshot(...given)
        open += 1
        const close = async (): Promise<void> => {
          open -= 1
          await snapshot.close()
        }
        return Object.assign(Object.create(snapshot) as typeof snapshot, { close })
      },
    }
    const admission = createAdmission({})
    const exchange = {
      request: { url: `${emco.base}/status?output=detail`, headers: {}, socket: {} } as IncomingMessage,
      response: unread as unknown as ServerResponse,
      ...{ bodies: admission.bodies, method: 'GET', path: `${emco.base}/status`, id: '' },
    }
    const deps = { database: counting, deadline: () => createDeadline(15_000, admission.refuse), admission }
    const status = showStatus({ ...key, kind: 'DEPLOYMENT_INTENT_GROUP', provider: null })
    const sent = show(deps, exchange, everyone, status)
    return { sent, unread, open: () => open }
  }

  it('holds the snapshot no longer than one that does', async () => {
    const { sent, unread, open } = await ask(20)
    await sent
    expect([open(), unread.writableLength > 2_000_000, unread.writableEnded]).toEqual([0, true, true])
    unread.destroy()
  })

  it('is sent a bounded part of a large one', async () => {
    const { sent, unread, open } = await ask(60)
    let isSent = false
    const ended = sent.finally(() => {
      isSent = true
    })
    await expect.poll(() => unread.listenerCount('drain')).toBe(1)
    expect([isSent, open(), unread.writableLength >= 4 * mebibyte, unread.writableLength < 5 * mebibyte]).toEqual([
      ...[false, 1, true, true],
    ])
    unread.destroy()
    await ended
    expect(open()).toBe(0)
  })
})
