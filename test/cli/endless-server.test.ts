/** A server decides neither how much a terminal reads, nor how often it asks, nor whom else. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type Child, startNode } from '../support/servers/child.ts'

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const run = (...args: string[]): Child => startNode(['src/bin.ts', ...args], { XDG_CONFIG_HOME: temporaryFolder() })

it('login asks for no longer than its code is valid, and not without a pause', async () => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, expiresIn: 1, handle: 'handle' }
  let asked = 0
  const url = await serve(({ url: path }, response) => {
    if (!path?.endsWith('/token')) return response.end(JSON.stringify(begun))
    asked += 1
    response.writeHead(202).end('{"status":"pending"}')
  })
  expect(await run('login', '--url', url).ended).toBe(77)
  expect(asked).toBeLessThan(20)
})

it.runIf(isWhole)('login sends its handle to no other server', async () => {
  let asked = 0
  const other = await serve((_, response) => {
    asked += 1
    response.end('{}')
  })
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, handle: 'handle' }
  const url = await serve(({ url: path }, response) =>
    path?.endsWith('/token') ? response.writeHead(307, { location: other }).end() : response.end(JSON.stringify(begun)),
  )
  expect(await run('login', '--url', url).ended).not.toBe(0)
  expect(asked).toBe(0)
})

it.each([
  ['login', 1],
  ['get', 'deployments', 64],
  ['export', 'changes', 1],
] as const)('%s ends at an answer that does not', async (...[command, ...more]) => {
  const limit = Number(more.at(-1))
  let sent = 0
  const url = await serve((_, response) => {
    response.writeHead(command === 'export' ? 500 : 200)
    const piece = Buffer.alloc(1 << 20, ' ')
    const send = (): void => {
      while (!response.destroyed) {
        sent += 1
        if (!response.write(piece)) return void response.once('drain', send)
      }
    }
    send()
  })
  const child = run(command, ...more.slice(0, -1).map(String), '--url', url)
  expect(await child.ended).not.toBe(0)
  // What the system holds on the way is sent too.
  expect(sent).toBeLessThan(limit + 32)
  expect(child.lines.join('\n')).toMatch(command === 'export' ? /HTTP 500/ : new RegExp(`more than ${limit} MiB`))
})

it('watch ends at a message that does not', async () => {
  const server = createServer((_, response) => response.end('{"data":{"revision":"1"}}'))
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'graphql-transport-ws' })
  let sent = 0
  sockets.on('connection', (socket, { socket: wire }) => {
    socket.once('message', () => {
      socket.send('{"type":"connection_ack"}')
      const piece = Buffer.alloc(1 << 20, ' ')
      const send = (): void => {
        while (!wire.destroyed) {
          sent += 1
          socket.send(piece, { fin: false, binary: false })
          if (wire.writableNeedDrain) return void wire.once('drain', send)
        }
      }
      send()
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  const child = run('watch', '--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(await child.ended).not.toBe(0)
  expect(sent).toBeLessThan(64 + 32)
  expect(child.lines.join('\n')).toContain('more than 64 MiB')
})

it.runIf(isWhole)('get ends when the server names the same page again', async () => {
  let asked = 0
  const deployments = { nodes: [], pageInfo: { hasNextPage: true, endCursor: 'a' } }
  const url = await serve((_, response) => {
    asked += 1
    response.end(JSON.stringify({ data: { deployments } }))
  })
  const got = run('get', 'deployments', '--url', url)
  expect(await got.ended).not.toBe(0)
  expect(got.lines.join('\n')).toContain('there are more deployments, and not where')
  expect(asked).toBe(2)
})
