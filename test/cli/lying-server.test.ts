/** What a server, or an issuer behind it, says to a terminal cannot move its cursor or clear it. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { jsonLine } from '../../src/apps/cli/show.ts'
import { temporaryFolder } from '../support/folder.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { type Child, startNode } from '../support/servers/child.ts'

const hostile = 'ada\u001b[2J\u001b]0;root\u0007\u202egro\u200b'

async function serve(listener: RequestListener, connected?: (socket: WebSocket) => void): Promise<string> {
  const server = createServer(listener)
  if (connected) new WebSocketServer({ server }).on('connection', connected)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const run = (...args: string[]): Child => startNode(['src/bin.ts', ...args], { XDG_CONFIG_HOME: temporaryFolder() })

const expectPlain = ({ lines }: Child): void => {
  expect(lines.join('\n')).toContain('ada')
  expect(lines.join('\n')).not.toMatch(/[^\P{Cc}\n]|\u202e|\u200b/u)
  expect(lines.join('\n')).toContain(String.raw`\u202egro\u200b`)
}

it('login escapes hidden characters in the name of the person', async () => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, handle: 'handle' }
  const opened = { token: 'token', name: hostile, roles: [hostile], seconds: 60 }
  const url = await serve(({ url: path }, response) =>
    response.end(JSON.stringify(path?.endsWith('/token') ? opened : begun)),
  )
  const login = run('login', '--url', url)
  expect(await login.ended).toBe(0)
  expectPlain(login)
})

it.runIf(isWhole)('login asks again after an error that passes', async () => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, handle: 'handle' }
  const opened = { token: 'token', name: 'ada', roles: ['viewer'], seconds: 60 }
  let asked = 0
  const url = await serve(({ url: path }, response) => {
    if (!path?.endsWith('/token')) return response.end(JSON.stringify(begun))
    asked += 1
    if (asked === 1) return response.writeHead(503).end()
    if (asked === 2) return response.destroy()
    response.end(JSON.stringify(opened))
  })
  const login = run('login', '--url', url)
  expect(await login.ended).toBe(0)
  expect(asked).toBe(3)
})

it.runIf(isWhole)('login gives up when its code has expired', async () => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, expiresIn: 0, handle: 'handle' }
  const url = await serve(({ url: path }, response) =>
    path?.endsWith('/token') ? response.writeHead(503).end() : response.end(JSON.stringify(begun)),
  )
  expect(await run('login', '--url', url).ended).toBe(69)
})

it('get shows the reason that an unavailable server gives, with its hidden characters escaped', async () => {
  const error = { message: `the database of ${hostile} cannot be reached`, extensions: { code: 'UNAVAILABLE' } }
  const url = await serve((_, response) => response.writeHead(503).end(JSON.stringify({ errors: [error] })))
  const got = run('get', 'deployments', '--url', url)
  expect(await got.ended).not.toBe(0)
  expectPlain(got)
  expect(got.lines.join('\n')).toMatch(
    /unavailable \(HTTP 503\): the database of ada.* cannot be reached\. Try again later/,
  )
})

it.runIf(isWhole)('export escapes hidden characters in the reason of a refusal', async () => {
  const url = await serve((_, response) => response.writeHead(403).end(JSON.stringify({ detail: hostile })))
  const exported = run('export', 'changes', '--url', url)
  expect(await exported.ended).toBe(77)
  expectPlain(exported)
})

it.each(
  casesOf(1, [
    ['watch', '--after', '1'],
    ['watch', '--after', '1', '--json'],
    ['wait', '--for=installed', '--deployment', 'pump', '--timeout', '4s'],
  ]),
)('%s escapes hidden characters in the reason of a lost connection', async (...command) => {
  const url = await serve(
    () => undefined,
    (socket) => socket.close(1011, hostile),
  )
  const child = run(...command, '--url', url)
  await child.said(/disconnected/)
  child.process.kill('SIGINT')
  await child.ended
  expectPlain(child)
})

it('watch says that changes were missed, and not the opposite, after a lost connection', async () => {
  let connections = 0
  const url = await serve(
    () => undefined,
    (socket) => {
      connections += 1
      const reset = connections === 2 ? { reason: 'CURSOR_EXPIRED' } : null
      socket.on('message', (text) => {
        const { type, id } = JSON.parse(String(text))
        if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }))
        if (type !== 'subscribe') return
        const data = { changes: { cursor: String(connections), reset, change: null } }
        socket.send(JSON.stringify({ id, type: 'next', payload: { data } }))
        if (connections < 3) socket.close(1012, 'restart')
      })
    },
  )
  const child = run('watch', '--after', '1', '--url', url)
  await child.said(/^reconnected, no changes missed$/)
  expect(child.lines).toEqual([
    'disconnected: the connection was closed (1012 restart); retrying',
    'reconnected',
    'changes before 2 are no longer available (CURSOR_EXPIRED): query the present state again',
    'disconnected: the connection was closed (1012 restart); retrying',
    'reconnected, no changes missed',
  ])
})

it.runIf(isWhole)(
  'watch goes on when a server ends the connection because of other rights, until it refuses the token',
  async () => {
    let connections = 0
    const url = await serve(
      () => undefined,
      (socket) => {
        connections += 1
        if (connections === 3) return socket.close(4403, 'Forbidden')
        socket.on('message', (text) => {
          const { type, id } = JSON.parse(String(text))
          if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }))
          if (type !== 'subscribe') return
          const data = { changes: { cursor: String(connections), reset: null, change: null } }
          socket.send(JSON.stringify({ id, type: 'next', payload: { data } }))
          socket.close(4403, 'Forbidden')
        })
      },
    )
    const child = run('watch', '--after', '1', '--url', url)
    expect(await child.ended).toBe(77)
    expect(child.lines).toEqual([
      'disconnected: the connection was closed (4403 Forbidden); retrying',
      'reconnected, no changes missed',
      'disconnected: the connection was closed (4403 Forbidden); retrying',
      expect.stringMatching(/^the server at .* rejects the token, or requires one/),
    ])
  },
)

it.runIf(isWhole)('wait goes on after an error that passes, and ends with one that does not', async () => {
  let asked = 0
  const messages = [
    { type: 'error', payload: [{ message: 'the database is away', extensions: { code: 'UNAVAILABLE' } }] },
    { type: 'next', payload: { data: { deployment: { deployment: null } } } },
    { type: 'error', payload: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }] },
  ]
  const url = await serve(
    () => undefined,
    (socket) =>
      socket.on('message', (text) => {
        const { type, id } = JSON.parse(String(text))
        if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }))
        if (type !== 'subscribe') return
        socket.send(JSON.stringify({ id, ...messages[asked] }))
        if (asked === 1) socket.send(JSON.stringify({ id, type: 'complete' }))
        asked += 1
      }),
  )
  const child = run('wait', '--for=installed', '--deployment', 'pump', '--timeout', '1m', '--url', url)
  expect(await child.ended).toBe(77)
  expect(child.lines).toEqual(['no'])
  expect(asked).toBe(3)
})

it.each([
  ['a pause that no timer has', { interval: 1e12 }, {}, 'interval'],
  ['a pause that is no number', { interval: 'soon' }, {}, 'interval'],
  ['no address', { verificationUri: null }, {}, 'verificationUri'],
  ['a session without an end', {}, { seconds: 1e300 }, 'seconds'],
  ['a session without a token', {}, { token: undefined }, 'token'],
])('login refuses %s', async (_, ofBegin, ofEnd, place) => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, handle: 'handle', ...ofBegin }
  const opened = { token: 'token', name: 'ada', roles: ['viewer'], seconds: 60, ...ofEnd }
  const asked: unknown[] = []
  const url = await serve(({ url: path }, response) => {
    asked.push(path)
    response.end(JSON.stringify(path?.endsWith('/token') ? opened : begun))
  })
  const login = run('login', '--url', url)
  expect(await login.ended).toBe(1)
  expect(login.lines.at(-1)).toMatch(new RegExp(`something that is no sign-in: ${place}$`))
  expect(asked.length).toBeLessThanOrEqual(2)
})

describe('what devices say', () => {
  const inTerminal = 'data:text/javascript,process.stdout.isTTY=true'
  const text = `"${hostile}\u009b2J\r","Grüße"\r\n`
  const exportOf = async (imports: readonly string[], format: string) => {
    const url = await serve((_, response) => response.end(text))
    return startNode([...imports, 'src/bin.ts', 'export', 'reports', '--format', format, '--url', url], {
      XDG_CONFIG_HOME: temporaryFolder(),
    })
  }
  const bytesOf = async ({ process, ended }: Child): Promise<string> => {
    const parts: Buffer[] = []
    process.stdout?.on('data', (part: Buffer) => parts.push(part))
    expect(await ended).toBe(0)
    return Buffer.concat(parts).toString()
  }

  it('is shown by export in a terminal with its hidden characters escaped', async () => {
    const shown = '"ada\\u001b[2J\\u001b]0;root\\u0007\\u202egro\\u200b\\u009b2J","Grüße"\n'
    expect(await bytesOf(await exportOf(['--import', inTerminal], 'csv'))).toBe(shown)
  })

  it('is exact in a file or a pipe', async () => {
    expect(await bytesOf(await exportOf([], 'csv'))).toBe(text)
  })

  it.runIf(isWhole)('is not shown as Parquet in a terminal', async () => {
    expect(await (await exportOf(['--import', inTerminal], 'parquet')).ended).toBe(64)
  })

  it('has no hidden characters in lines of JSON, and is the same text', () => {
    const line = jsonLine({ message: `${text}\u007f` })
    expect(line).toMatch(/^[^\p{Cc}\u202e\u200b]+\n$/u)
    expect(JSON.parse(line)).toEqual({ message: `${text}\u007f` })
  })
})

describe('a silent server', () => {
  const silence = async () => {
    const asked = Promise.withResolvers<void>()
    return { url: await serve(() => asked.resolve()), asked: asked.promise }
  }
  const waiting = ['wait', '--for=installed', '--rollout', 'pumps', '--device', 'edge-1']

  it.each(
    casesOf(2, [[['get', 'deployments']], [['counts']], [['watch', '--rollout', 'pumps']], [waiting], [['login']]]),
  )('is left by an interrupt of %j', async (command) => {
    const { url, asked } = await silence()
    const child = run(...command, '--url', url)
    await asked
    child.process.kill('SIGINT')
    expect(await child.ended).toBe(130)
  })

  it.runIf(isWhole)('does not lengthen the timeout of wait', async () => {
    const { url } = await silence()
    const child = run(...waiting, '--timeout', '100ms', '--url', url)
    expect(await child.ended).toBe(2)
    expect(child.lines).toEqual(['timeout: no answer from the server'])
  })

  it.each(casesOf(1, [[['get', 'deployments']], [waiting], [['login']]]))(
    'that fell silent in its answer is unreachable for %j',
    async (command) => {
      const url = await serve((_, response) => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"data":', () => response.destroy())
      })
      expect(await run(...command, '--url', url).ended).toBe(69)
    },
  )
})
