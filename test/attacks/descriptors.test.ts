import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { startNode } from '../support/servers/child.ts'

const requestOf = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: */*, text/html\r\nConnection: close\r\n\r\n`

it('a server without enough file descriptors refuses every route, and answers when it has them', async () => {
  const script = 'ulimit -n 100; exec "$0" src/main.ts'
  const program = startNode(['-c', script, process.execPath], { DATA_DIR: 'memory', PORT: '0' }, '/bin/sh')
  const url = (await program.said(/listens on/)).split(' ').at(-1) ?? ''
  // GraphQL is loaded then, which needs descriptors.
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  for (const path of ['/', '/export/changes', '/export/deployments?format=parquet']) {
    const sockets = Array.from({ length: 200 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
    for (const socket of sockets) socket.on('error', () => undefined)
    // The server closes those that it has no descriptor for.
    const isRefused = ({ readableEnded, destroyed }: (typeof sockets)[0]): boolean => readableEnded || destroyed
    for (const socket of sockets) socket.resume()
    await expect.poll(() => sockets.some(isRefused)).toBe(true)
    const open = sockets.filter((socket) => !isRefused(socket))
    const answers: string[] = []
    const statuses = (): string[] => answers.map((answer) => answer.split(' ')[1] ?? 'nothing')
    // Each response ends a connection, so each further request finds one more descriptor.
    while (open.length > 0 && statuses().at(-1) !== '200') {
      const socket = open.shift()
      socket?.write(requestOf(path))
      if (socket) answers.push(await text(socket))
    }
    for (const socket of sockets) socket.destroy()
    expect(statuses().at(-1), path).toBe('200')
    expect(statuses().slice(0, -1), path).toEqual(answers.slice(1).map(() => '503'))
    expect(answers.length, path).toBeGreaterThan(1)
    expect(answers[0], path).toMatch(/^retry-after: \d+\r\n/im)
    expect((await fetch(`${url}/readyz`)).status, path).toBe(200)
  }
})

const bodyOf = (id: number): string =>
  JSON.stringify({ deploymentId: `d-${id}`, status: { state: 'installed' }, components: [] })

it.runIf(isWhole)('an embedded database that lacked file descriptors is written again when it has them', async () => {
  const env = { DATA_DIR: temporaryFolder(), PORT: '0' }
  const program = startNode(['-c', 'ulimit -n 400; exec "$0" src/main.ts', process.execPath], env, '/bin/sh')
  const url = (await program.said(/listens on/)).split(' ').at(-1) ?? ''
  // GraphQL is loaded then, which needs descriptors.
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  const sockets = Array.from({ length: 700 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
  const isRefused = ({ readableEnded, destroyed }: (typeof sockets)[0]): boolean => readableEnded || destroyed
  for (const socket of sockets) socket.on('error', () => undefined).resume()
  await expect.poll(() => sockets.some(isRefused)).toBe(true)
  const [first] = sockets.filter((socket) => !isRefused(socket))
  const path = (id: number): string => `/device/edge-${id}/deployment/d-${id}/status`
  for (let id = 0; first && id < 100; id += 1) {
    const body = bodyOf(id)
    const headers = `Host: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
    first.write(`POST ${path(id)} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
    const [answer] = await once(first, 'data')
    if (/^HTTP\/1\.1 503/.test(String(answer))) break
  }
  for (const socket of sockets) socket.destroy()
  const report = () =>
    fetch(`${url}${path(100)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(100),
    }).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(report).toBe(201)
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
})
