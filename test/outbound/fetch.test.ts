/** What an answer of an issuer takes in memory is bounded, whatever its pieces and its values are. */
import { ClientRequest } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fetchBounded } from '../../src/platform/outbound/fetch.ts'

async function serve(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\n'
/** With so many chunks of a byte. */
const inPieces = (count: number): string =>
  `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n${'1\r\n \r\n'.repeat(count)}0\r\n\r\n`

it('takes an answer in a thousand pieces, and none in ever more', async () => {
  expect(await (await fetchBounded(await serve(inPieces(1_000)))).text()).toBe(`{}${' '.repeat(1_000)}`)
  await expect(fetchBounded(await serve(inPieces(50_000)))).rejects.toThrow('too many small pieces')
})

it.each([
  ['many values', `{"keys":[${'{},'.repeat(300_000)}{}]}`, 'more than 20000 values'],
  ['a long text', `{"issuer":"${'x'.repeat(1_000_000)}"}`, 'a text of more than'],
  ['many bytes', `{"keys":[${' '.repeat(2 << 20)}]}`, 'more than 1048576 bytes'],
  ['lists in lists', '['.repeat(100_000) + ']'.repeat(100_000), 'nested deeper'],
])('takes no answer of %s', async (_, body, why) => {
  await expect(fetchBounded(await serve(`${head}\r\n${body}`))).rejects.toThrow(why)
})

it('gives the library nothing of what is no JSON', async () => {
  const response = await fetchBounded(await serve(`${head}\r\n{"keys":[${'{},'.repeat(300_000)}`))
  expect(await response.text()).toBe('')
})

it.each([
  ['interim responses without end', 'HTTP/1.1 103 X\r\n\r\n'.repeat(1_000), 'interim responses'],
  ['another protocol', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', 'changes the protocol'],
  ['a status that is none', 'HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n', 'the status 999'],
])('gives up %s', async (_, answer, why) => {
  await expect(fetchBounded(await serve(answer))).rejects.toThrow(why)
})

it('gives up interim responses once, however many were received together', async () => {
  const destroyed = vi.spyOn(ClientRequest.prototype, 'destroy')
  onTestFinished(() => destroyed.mockRestore())
  await expect(fetchBounded(await serve('HTTP/1.1 103 X\r\n\r\n'.repeat(1_000)))).rejects.toThrow('interim responses')
  // Once more by Node, as the connection is closed.
  expect(destroyed.mock.calls.length).toBeLessThan(4)
})

it('does not unpack an answer', async () => {
  const packed = `${head}Content-Encoding: gzip\r\n\r\n{"a":1}`
  expect(await (await fetchBounded(await serve(packed))).text()).toBe('{"a":1}')
})

it('follows no redirect', async () => {
  const elsewhere = await serve(`${head}\r\n{"keys":[]}`)
  const response = await fetchBounded(
    await serve(`HTTP/1.1 307 X\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
  )
  expect(response.status).toBe(307)
})
