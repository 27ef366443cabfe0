/** What an answer of an issuer takes in memory is bounded, whatever its pieces are. */
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { fetchBounded } from '../../src/auth/bounded-fetch.ts'

/** Answers with so many chunks of a byte. */
async function serve(count: number): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
    socket.once('data', () => socket.end(`${head}${'1\r\n \r\n'.repeat(count)}0\r\n\r\n`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('takes an answer in a thousand pieces, and none in ever more', async () => {
  expect(await (await fetchBounded(await serve(1_000))).text()).toBe(' '.repeat(1_000))
  const endless = await fetchBounded(await serve(50_000))
  await expect(endless.text()).rejects.toThrow('larger than')
})
