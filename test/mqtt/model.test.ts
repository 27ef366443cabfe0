/** Any sequence of messages by MQTT has the answers and leaves the log that the same bodies have over HTTP, on a server of its own. */
import fc from 'fast-check'
import { connectAsync } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectDevice, receiving } from '../support/clients/mqtt-device.ts'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

const ids = ['d-1', 'b/c', 'ü %+#'] as const
const states = ['pending', 'installing', 'installed', 'failed', 'removing', 'removed'] as const
const time = fc.integer({ min: 0, max: 5 }).map((n) => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString())
const component = fc.record({ name: fc.constantFrom('web', 'db'), state: fc.constantFrom(...states) })
const valid = fc.record(
  {
    status: fc.record(
      {
        state: fc.constantFrom(...states),
        error: fc.record({ code: fc.constantFrom('1', '507'), message: fc.string() }),
      },
      { requiredKeys: ['state'] },
    ),
    components: fc.uniqueArray(component, { selector: ({ name }) => name, maxLength: 2 }),
    rollcall: fc.record({ seq: fc.nat(9), boot: fc.constantFrom('x', 'y'), observedAt: time }, { requiredKeys: [] }),
  },
  { requiredKeys: ['status', 'components'] },
)
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const message = fc.record({
  kind: fc.constant('message' as const),
  deploymentId: fc.constantFrom(...ids),
  body: fc.oneof(
    { weight: 6, arbitrary: valid },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: bytes },
  ),
  contentType: fc.oneof(
    { weight: 8, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: fc.constantFrom('application/yaml', 'text/plain', 'application/json; charset=utf-8') },
  ),
  notes: fc.dictionary(fc.constantFrom('a', 'note', 'Content-Type', 'host'), fc.string({ maxLength: 20 }), {
    maxKeys: 3,
  }),
})
const event = fc
  .constantFrom('repeat' as const, 'repeat' as const, 'device away' as const, 'server away' as const)
  .map((kind) => ({ kind }))
const sequence = fc.array(fc.oneof({ weight: 5, arbitrary: message }, { weight: 1, arbitrary: event }), {
  maxLength: 10,
})

/** Revisions of two servers begin with different numbers. */
function since<Answer extends { readonly revision?: string }>(first: number, answer: Answer): object {
  return answer.revision === undefined ? answer : { ...answer, revision: Number(answer.revision) - first }
}

describe.skipIf(isMissing).each(stores)('messages by MQTT on $name', (store) => {
  let broker: Mosquitto
  let server: RunningApp
  let twin: RunningApp
  beforeAll(async () => {
    broker = await startMosquitto()
    ;[server, twin] = [await startApp({ store, env: { MQTT_URL: broker.url } }), await startApp({ store })]
    await receiving(server)
  })
  afterAll(async () => {
    await Promise.all([server?.stop(), twin?.stop()])
    await broker?.dispose()
  })

  /** Ends the connection of the server, which has nothing unacknowledged. */
  async function dropServer(): Promise<void> {
    const impostor = await connectAsync(broker.url, {
      ...{ protocolVersion: 5, clientId: 'rollcall-in-0', clean: false, reconnectPeriod: 0 },
      properties: { sessionExpiryInterval: 3_600 },
    })
    impostor.handleMessage = () => {}
    await impostor.endAsync(true)
  }

  /** What the log has about a device, without times. */
  async function logOf(app: RunningApp, deviceId: string): Promise<unknown> {
    const { changes, deployments } = await app.query(
      `query ($ids: [String!]) {
        changes(filter: { deviceIds: $ids }, last: 100) { nodes { kind ... on DeploymentStateChanged { deployment { deploymentId } from to } } }
        deployments(filter: { deviceIds: $ids }) { nodes { deploymentId state error { code message } components { name state } } } }`,
      { ids: [deviceId] },
    )
    return { changes: changes.nodes, deployments: deployments.nodes }
  }

  it('have the answers and the log of HTTP', async () => {
    const revision = async (app: RunningApp): Promise<number> => Number((await app.query('{ revision }')).revision)
    const [first, firstOfTwin] = [await revision(server), await revision(twin)]
    let run = 0
    await fc.assert(
      fc.asyncProperty(sequence, async (actions) => {
        run += 1
        const deviceId = `edge-${run}`
        let device = await connectDevice(broker.url, deviceId)
        let last = (): Promise<void> => Promise.resolve()
        for (const action of actions) {
          if (action.kind === 'repeat') await last()
          else if (action.kind === 'server away') await dropServer()
          else if (action.kind === 'device away') {
            device.client.stream.destroy()
            await device.close()
            device = await connectDevice(broker.url, deviceId)
          } else if ('notes' in action) {
            const { deploymentId, body, contentType, notes } = action
            const isReport = typeof body === 'object' && body !== null && 'status' in body && 'components' in body
            const payload = Buffer.isBuffer(body) ? body : JSON.stringify(isReport ? { deploymentId, ...body } : body)
            const level = deploymentId.replaceAll(/[%/+#]/g, encodeURIComponent)
            last = async () => {
              const topic = `rollcall/${deviceId}/deployments/${level}/status`
              const { body: answer } = await device.send(topic, payload, {
                contentType,
                userProperties: { ...notes, sent: 'once' },
              })
              const path = `/device/${deviceId}/deployment/${encodeURIComponent(deploymentId)}/status`
              const response = await twin.post(path, payload, { 'content-type': contentType })
              expect(since(first, answer)).toEqual(since(firstOfTwin, (await response.json()) as object))
            }
            await last()
          }
        }
        await device.close()
        expect(await logOf(server, deviceId)).toEqual(await logOf(twin, deviceId))
      }),
      { numRuns: someOf(3, 8) },
    )
    expect((await revision(server)) - first).toBe((await revision(twin)) - firstOfTwin)
  })
})
