/** A standby is lost while it is read. The database is real, and the loss is the test's. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lost } from '../../src/store/connection/failure.ts'
import type { Database, Session } from '../../src/store/database.ts'
import { transports } from '../graphql/clients.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Applied, newContext, newGroup } from '../support/systems/emco.ts'

/** This statement on a snapshot that need not be the primary's fails, counted from 1, and all later ones on it. 0: none does. */
let losing = 0
/** Done after the snapshot that was lost. Duties read the primary, too, so not before its next snapshot. */
let meanwhile: (() => Promise<unknown>) | null = null
afterEach(() => {
  meanwhile = null
})

function lossy(database: Database): Database {
  return {
    ...database,
    async snapshot(signal, freshness) {
      const snapshot = await database.snapshot(signal, freshness)
      if (freshness === undefined || freshness === 'primary') return snapshot
      let isLost = false
      const orLost = async <T>(answer: Promise<T>): Promise<T> => {
        await answer
        if (losing > 0) {
          losing -= 1
          isLost = losing === 0
        }
        if (isLost) throw lost()
        return answer
      }
      const run: Session['run'] = (text, parameters) => orLost(snapshot.run(text, parameters))
      const rows: Session['rows'] = (query) => orLost(snapshot.rows(query))
      const close = async () => {
        await snapshot.close()
        if (isLost) await meanwhile?.()
      }
      return { ...snapshot, run, rows, close, isStandbyLost: () => isLost }
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
    losing = 1
    const { deployment } = await server.query('{ deployment(deploymentId: "d-1") { state device { deviceId } } }')
    expect(deployment).toEqual({ state: 'INSTALLING', device: { deviceId: 'edge-1' } })
    expect(losing).toBe(0)
  })

  it('loses no answer of a route', async () => {
    losing = 1
    const answer = await fetch(`${server.url}/v1/instance`)
    expect([answer.status, await answer.json()]).toEqual([200, []])
    expect(losing).toBe(0)
  })

  describe('in the middle of an answer in parts', () => {
    const list = () => `${server.url}/v1/instance`
    const put = async (id: string, namespace: string) => {
      const request = {
        'rb-name': 'r',
        'rb-version': 'v1',
        'profile-name': 'p',
        'cloud-region': 'c',
        'release-name': id,
      }
      const answer = await fetch(`${list()}/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id, request, namespace, resources: [] }),
      })
      expect(answer.ok).toBe(true)
    }
    const remove = async (id: string) => {
      expect((await fetch(`${list()}/${id}`, { method: 'DELETE' })).ok).toBe(true)
    }
    const read = async (url: string) => (await fetch(url)).text()
    /** Resources of an instance, in more statements than one. */
    const resources = Array.from({ length: 120 }, (_, index) => ({ name: `n${index}`, detail: { index } }))
    let status = ''
    let apply = async (_more: readonly Applied[]): Promise<void> => {}
    beforeAll(async () => {
      for (let number = 10; number < 40; number += 1) await put(`id-${number}`, 'n')
      const emco = newGroup(server)
      const context = newContext()
      await emco.act('Created', 'Approved', `Instantiated ${context}`)
      await emco.apply(context, resources)
      status = `${server.url}${emco.base}/status?output=detail`
      apply = (more) => emco.apply(context, more)
    })

    it.each([1, 2, 3, 4, 5])('completes a list when statement %i is lost', async (statement) => {
      const whole = await read(list())
      losing = statement
      expect([await read(list()), losing]).toEqual([whole, 0])
    })

    it.each([1, 4, 6, 7, 8, 9, 10])('completes an EMCO status when statement %i is lost', async (statement) => {
      const whole = await read(status)
      losing = statement
      expect([await read(status), losing]).toEqual([whole, 0])
    })

    it('shows a change behind what was sent', async () => {
      losing = 4
      meanwhile = () => put('id-39', 'changed meanwhile')
      expect(await (await fetch(list())).json()).toMatchObject({ 29: { id: 'id-39', namespace: 'changed meanwhile' } })
    })

    it('cuts off a list of which a sent part has changed', async () => {
      losing = 4
      meanwhile = () => put('id-10', 'changed meanwhile')
      const answer = await fetch(list())
      expect(answer.status).toBe(200)
      await expect(answer.text()).rejects.toThrow('terminated')
      expect(await (await fetch(list())).json()).toMatchObject({ 0: { namespace: 'changed meanwhile' } })
    })

    it('cuts off a list that has become shorter than what was sent', async () => {
      losing = 4
      meanwhile = () => Promise.all(Array.from({ length: 25 }, (_, index) => remove(`id-${index + 15}`)))
      await expect(read(list())).rejects.toThrow('terminated')
      expect(await (await fetch(list())).json()).toHaveLength(5)
    })

    it('reads no more for HEAD than what says that there is an answer', async () => {
      losing = 4
      const { status } = await fetch(list(), { method: 'HEAD' })
      expect([status, losing > 0]).toEqual([200, true])
      losing = 0
    })

    it('cuts off an EMCO status of which a sent part has changed', async () => {
      losing = 9
      meanwhile = () => apply([{ name: 'n0', detail: { index: 'changed' } }])
      await expect(read(status)).rejects.toThrow('terminated')
    })
  })

  it.each(transports)('loses no update of a subscriber, over $name', async ({ watch }) => {
    await report('installing')
    const stream = watch(
      `${server.url}/graphql`,
      'subscription { deployment(deploymentId: "d-1") { deployment { state } } }',
    )
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'INSTALLING' } } })
    losing = 1
    await report('installed')
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'INSTALLED' } } })
    expect(losing).toBe(0)
    await report('failed')
    expect(await stream.data()).toEqual({ deployment: { deployment: { state: 'FAILED' } } })
    await stream.close()
  })
})
