/**
 * Prints which files of `src` a report enters on its way to a subscriber, and which a page's query enters: those with a function that
 * V8 counts as called. `node test/support/entered-files.ts`; with `--files`, their names too.
 */
import { Session } from 'node:inspector/promises'
import { WebSocket } from 'ws'
import { createLog } from '../../src/platform/log/log.ts'
import { createApp } from '../../src/server/app.ts'
import { parseConfig } from '../../src/server/config/config.ts'
import { openDatabase } from '../../src/store/open.ts'

const source = new URL('../../src/', import.meta.url).href
const config = parseConfig({ DATA_DIR: 'memory', LOG_LEVEL: 'warn', PORT: '0' })
const app = await createApp({ config, database: await openDatabase(config.store), log: createLog({ level: 'warn' }) })
const { url } = await app.listen()
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

async function called(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url, functions }) => url.startsWith(source) && functions.some(({ ranges }) => ranges[0]?.count))
    .map(({ url }) => url.slice(source.length))
}

let reports = 0
async function report(): Promise<void> {
  reports += 1
  const state = reports % 2 === 0 ? 'installed' : 'installing'
  const body = { deploymentId: 'entered', status: { state }, components: [{ name: 'a', state }] }
  const headers = { 'content-type': 'application/json' }
  const path = '/api/v1/clients/device/deployments/entered/status'
  await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
}

async function ask(): Promise<void> {
  const query =
    '{ deployments(first: 20) { nodes { deploymentId state device { deviceId } } pageInfo { hasNextPage } } }'
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).text()
}

let arrived = (): void => {}
const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
socket.on('open', () => socket.send('{"type":"connection_init"}'))
socket.on('message', (message) => {
  const { type } = JSON.parse(String(message))
  const query = 'subscription { deployment(deploymentId: "entered") { cursor deployment { state } } }'
  if (type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
  else if (type === 'next') arrived()
})

async function delivered(cause: () => Promise<void>): Promise<void> {
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve
  })
  await cause()
  await arrival
}

function print(name: string, files: readonly string[]): void {
  console.log(`${name}: ${files.length} files`)
  if (process.argv.includes('--files')) console.log(files.map((file) => `  ${file}`).join('\n'))
}

await report()
await delivered(async () => {})
// The first ones also fill caches.
for (let round = 0; round < 5; round += 1) await delivered(report)
await called()
await delivered(report)
print('a report from POST to a subscriber', await called())
for (let round = 0; round < 5; round += 1) {
  await delivered(report)
  await ask()
}
await delivered(report)
await called()
await ask()
print("a page's query", await called())
socket.close()
await app.close()
