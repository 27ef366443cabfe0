/** A standby is lost while it is read. The database is real, and the loss is the test's. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lost } from '../../src/store/connection/failure.ts'
import type { Database, Session } from '../../src/store/database.ts'
import { transports } from '../graphql/clients.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { stores } from '../support/stores.ts'

/** The next statement on a snapshot that need not be the primary's fails, and all later ones on it. */
let isLosing = false

function lossy(database: Database): Database {
  return {
    ...database,
    async snapshot(signal, freshness) {
      const snapshot = await database.snapshot(signal, freshness)
      if (freshness === undefined || freshness === 'primary') return snapshot
      let isLost = false
      const orLost = async <T>(answer: Promise<T>): Promise<T> => {
        await answer
        if (isLosing) [isLosing, isLost] = [false, true]
        if (isLost) throw lost()
        return answer
      }
      const run: Session['run'] = (text, parameters) => orLost(snapshot.run(text, parameters))
      const rows: Session['rows'] = (query) => orLost(snapshot.rows(query))
      return { ...snapshot, run, rows, isStandbyLost: () => isLost }
    },
  }
}

describe.each(stores)('a standby that is lost while it is read, on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    const empty = await store.create()
    server = await startApp({ on: { ...empty, open: async () => lossy(await empty.open()) } })
  })
  afterAll(() => server.stop())

  const report = (state: string) =>
    server.post('/device/edge-1/deployment/d-1/status', { deploymentId: 'd-1', status: { state }, components: [] })

  it('loses no query', async () => {
    await report('installing')
    isLosing = true
    const { deployment } = await server.query('{ deployment(deploymentId: "d-1") { state device { deviceId } } }')
    expect(deployment).toEqual({ state: 'INSTALLING', device: { deviceId: 'edge-1' } })
    expect(isLosing).toBe(false)
  })

  it('loses no answer of a route', async () => {
    isLosing = true
    const answer = await fetch(`${server.url}/v1/instance`)
    expect([answer.status, await answer.json()]).toEqual([200, []])
    expect(isLosing).toBe(false)
  })

  it.each(transports)('loses no update of a subscriber, over $name', async ({ watch }) => {
    await report('installing')
    const stream = watch(
      `${server.url}/graphql`,
      'subscription { deployment(deploymentId: "d-1") { deployment { state } } }',
    )
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'INSTALLING' } } })
    isLosing = true
    await report('installed')
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'INSTALLED' } } })
    expect(isLosing).toBe(false)
    await report('failed')
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'FAILED' } } })
    await stream.close()
  })
})
