/** GraphQL is loaded while the server takes reports. What asks for it earlier waits. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { startNode } from './support/servers/child.ts'

const hold = new URL('support/servers/held-graphql.mjs', import.meta.url).pathname

/** From the sources, whose GraphQL has a file of its own. */
async function start(env: Readonly<Record<string, string>> = {}) {
  const child = startNode(['--import', hold, './src/main.ts'], { DATA_DIR: 'memory', PORT: '0', GIT: 'off', ...env })
  const url = (await child.said(/listens on/)).split(' ').at(-1) ?? ''
  return { ...child, url }
}

async function report(url: string): Promise<number> {
  const body = { deploymentId: 'hello', status: { state: 'installing' }, components: [] }
  const headers = { 'content-type': 'application/json' }
  const path = `${url}/device/edge-1/deployment/hello/status`
  return (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

const ask = async (url: string): Promise<unknown> =>
  (await fetch(`${url}/graphql?query={deployments{nodes{deploymentId}}}`)).json()

const answer = { data: { deployments: { nodes: [{ deploymentId: 'hello' }] } } }

/** The first byte of what a server sends for a WebSocket. */
function openSocket(url: string): Promise<string> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  onTestFinished(() => socket.terminate())
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve('open'))
    socket.on('error', reject)
  })
}

describe('a server that has not loaded GraphQL yet', () => {
  it('takes reports, while queries, WebSockets, refusals and the check of readiness wait', async () => {
    const { url, process } = await start()
    let settled = 0
    const ready = fetch(`${url}/readyz`).then(({ status }) => status)
    const refused = fetch(`${url}/graphql`, { method: 'POST', headers: { 'content-encoding': 'gzip' } })
    const waiting = [ask(url), openSocket(url), ready, refused.then(({ status }) => status)].map((one) =>
      one.finally(() => {
        settled += 1
      }),
    )
    for (let turn = 0; turn < 3; turn += 1) expect(await report(url)).toBe(201)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(settled).toBe(0)
    process.kill('SIGUSR2')
    // The query is executed when GraphQL is there, and shows the report.
    expect(await Promise.all(waiting)).toEqual([answer, 'open', 200, 415])
  })

  it('ends in order, after it has answered what waits', async () => {
    const { url, process, said, ended } = await start()
    expect(await report(url)).toBe(201)
    const waiting = ask(url)
    expect(await report(url)).toBe(201)
    process.kill('SIGTERM')
    await said(/shutting down/)
    process.kill('SIGUSR2')
    expect(await waiting).toEqual(answer)
    expect(await ended).toBe(0)
  })

  it('ends with the reason if it cannot be loaded', async () => {
    const { lines, ended } = await start({ GRAPHQL_FAILS: 'yes' })
    expect(await ended).toBe(1)
    const logged = lines.find((line) => line.includes('GraphQL could not be loaded')) ?? ''
    expect(JSON.parse(logged)).toMatchObject({ level: 'error', error: { message: 'a library is broken' } })
  })
})
