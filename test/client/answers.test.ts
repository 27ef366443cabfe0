/** What the client makes of answers that are not whole, or no answers of the API. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/apps/client/client.ts'

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = (url: string, signal?: AbortSignal) => connect({ url }).query('{ revision }', {}, { signal })

describe('a request', () => {
  it('whose answer is cut off has not reached the server', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"data":', () => response.destroy())
    })
    await expect(ask(url)).rejects.toMatchObject({ code: 'UNREACHABLE' })
  })

  it.each([
    ['does not begin', false],
    ['does not end', true],
  ])('whose answer %s ends by its signal, with its reason', async (_, isBegun) => {
    const url = await serve((_, response) => {
      if (isBegun) response.write('{"data":')
    })
    await expect(ask(url, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  it('whose answer is not JSON has reached another server', async () => {
    const url = await serve((_, response) => response.end('<html>'))
    await expect(ask(url)).rejects.toMatchObject({ code: 'NO_ANSWER' })
  })

  it('is sent again with a new token, and only with a new one, when the old one is refused', async () => {
    const sent: (string | undefined)[] = []
    const url = await serve(({ url: path, headers }, response) => {
      sent.push(`${path} ${headers.authorization}`)
      const isNew = headers.authorization === 'Bearer b'
      const error = { message: 'no', extensions: { code: 'UNAUTHENTICATED' } }
      response
        .writeHead(isNew ? 200 : 401)
        .end(JSON.stringify(isNew ? { data: { revision: '1' } } : { errors: [error] }))
    })
    const renewing = connect({ url: `${url}/graphql`, token: () => (sent.length > 0 ? 'b' : 'a') })
    expect(await renewing.query('{ revision }')).toEqual({ revision: '1' })
    await expect(connect({ url, token: 'c' }).query('{ revision }')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(sent).toEqual(['/graphql Bearer a', '/graphql Bearer b', '/graphql Bearer c'])
  })
})
