/** A server of HTTP that gives one answer. */
import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'

export async function startServerOf(answerTo: (body: string) => { readonly status: number; readonly text: string }) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += part
    bodies.push(body)
    const { status, text } = answerTo(body)
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, bodies }
}
