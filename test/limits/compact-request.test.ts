/** A request whose body waits for its reader, over real sockets. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { CompactRequest } from '../../src/platform/limits/compact-request.ts'

const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Begins a request, and sends the pieces of its body. */
async function begin(pieces: readonly Buffer[]) {
  const server = createServer({ IncomingMessage: CompactRequest }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume()
  onTestFinished(async () => {
    socket.destroy()
    server.close()
    await once(server, 'close')
  })
  socket.write(head)
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const chunks = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ])
  socket.write(Buffer.concat(chunks))
  return { server, socket, request, response }
}

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20_000 })), { maxLength: 60 })

it('gives the bytes of all pieces in order, whenever they are read', async () => {
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(5), async (lengths, turns) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, index))
      const { socket, request } = await begin(pieces)
      for (let left = turns; left > 0; left -= 1) await turn()
      const body = buffer(request)
      socket.write('0\r\n\r\n')
      expect((await body).equals(Buffer.concat(pieces))).toBe(true)
    }),
    { numRuns: 60 },
  )
})

it('keeps what it has been sent before it is read in few buffers', async () => {
  const { socket, request } = await begin(Array.from({ length: 200_000 }, () => Buffer.from('x')))
  // Node reads until it has 64 KiB of the body, of which each piece has six bytes on the way.
  await expect.poll(() => request.socket.bytesRead).toBeGreaterThan(6 * 65_536)
  const chunks: number[] = []
  request.on('data', ({ length }: Buffer) => chunks.push(length))
  await once(request, 'data')
  await once(request, 'data')
  expect(chunks[0]).toBe(1)
  expect(chunks[1]).toBeGreaterThan(60_000)
  socket.write('0\r\n\r\n')
  await once(request, 'end')
  expect(chunks.reduce((sum, length) => sum + length, 0)).toBe(200_000)
})

it('that is never read leaves the connection to the next one', async () => {
  const { server, socket, response } = await begin([Buffer.from('a'), Buffer.from('b')])
  socket.write(`1\r\nc\r\n0\r\n\r\n${head}`)
  response.end()
  await once(server, 'request')
})
