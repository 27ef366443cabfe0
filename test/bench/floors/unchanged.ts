/** The floor of a poll that finds nothing new: a bare server that compares the tag of each address, and says so. The first request says what they are. */
import { createServer } from 'node:http'
import { listen } from '../harness/listen.ts'

let tags = new Map<string, string>()

listen(
  createServer((request, response) => {
    const etag = tags.get(request.url ?? '')
    if (request.method === 'GET' && etag !== undefined && request.headers['if-none-match'] === etag) {
      response.writeHead(304, { etag }).end()
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      tags = new Map(Object.entries(JSON.parse(Buffer.concat(chunks).toString())))
      response.writeHead(200).end()
    })
  }),
)
