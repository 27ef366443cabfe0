/** What a server, or an issuer behind it, says to a terminal cannot move its cursor or clear it. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { type Child, startNode } from '../support/child.ts'
import { temporaryFolder } from '../support/folder.ts'

const hostile = 'ada\u001b[2J\u001b]0;root\u0007'

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

const expectPlain = ({ lines }: Child): void => {
  expect(lines.join('\n')).toContain('ada')
  expect(lines.join('\n')).not.toMatch(/[^\P{Cc}\n]/u)
}

it('login removes control characters from the name of the person', async () => {
  const begun = { userCode: 'ABCD', verificationUri: 'http://issuer', interval: 0, handle: 'handle' }
  const opened = { token: 'token', name: hostile, roles: [hostile], seconds: 60 }
  const url = await serve(({ url: path }, response) =>
    response.end(JSON.stringify(path?.endsWith('/token') ? opened : begun)),
  )
  const login = run('login', '--url', url)
  expect(await login.ended).toBe(0)
  expectPlain(login)
})

it('export removes control characters from the reason of a refusal', async () => {
  const url = await serve((_, response) => response.writeHead(403).end(JSON.stringify({ detail: hostile })))
  const exported = run('export', 'changes', '--url', url)
  expect(await exported.ended).toBe(77)
  expectPlain(exported)
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
