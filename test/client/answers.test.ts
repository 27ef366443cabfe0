/** What the client makes of answers that are not whole. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { request } from '../../src/apps/client/client.ts'

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
}

const asked = { query: '{ revision }', variables: {} }

describe('a request', () => {
  it('whose answer is cut off has not reached the server', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"data":', () => response.destroy())
    })
    await expect(request(url, asked)).rejects.toMatchObject({ code: 'UNREACHABLE' })
  })

  it.each([
    ['does not begin', false],
    ['does not end', true],
  ])('whose answer %s in time says so', async (_, isBegun) => {
    const url = await serve((_, response) => {
      if (isBegun) response.write('{"data":')
    })
    await expect(request(url, asked, {}, AbortSignal.timeout(50))).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: 'it did not answer in time',
    })
  })

  it('whose answer is not JSON has reached another server', async () => {
    const url = await serve((_, response) => response.end('<html>'))
    await expect(request(url, asked)).rejects.toMatchObject({ code: 'NO_ANSWER' })
  })
})
