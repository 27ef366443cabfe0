/** An HTTP receiver of notifications on a port of its own: it keeps what it gets, and answers as a test decides. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expectDescribed } from '../asyncapi.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test was sent, it knows.
  readonly body: any
}

export interface Receiver {
  readonly url: string
  readonly received: readonly Received[]
  /** From now on: a status, or what it does with the response itself. */
  answer(how: number | ((request: Received, response: ServerResponse) => void)): void
  /** When `wanted` is true of what it has received. */
  until(wanted: (received: readonly Received[]) => boolean): Promise<readonly Received[]>
  close(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let how: number | ((request: Received, response: ServerResponse) => void) = 200
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, text, body: parse(text) }
      received.push(one)
      expectDescribedSinks(one)
      if (typeof how === 'function') how(one, response)
      else response.writeHead(how).end()
      for (const check of waiting) check()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer(next) {
      how = next
    },
    until: (wanted) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!wanted(received)) return
          waiting.delete(check)
          resolve(received)
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** What webhooks and callbacks send is as the AsyncAPI document says. */
function expectDescribedSinks({ headers, body }: Received): void {
  const given = (start: string) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(start)))
  const contentType = headers['content-type']
  if (contentType?.startsWith('application/cloudevents+json'))
    expectDescribed('webhook', body.type.slice('rollcall.'.length), {
      payload: body,
      headers: given('webhook-'),
      contentType,
    })
  else if (body?.['subscription-name'])
    expectDescribed('callback', 'status', { payload: body, headers: given('x-rollcall-'), contentType })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
