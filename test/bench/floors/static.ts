/** The floor of a repeated query: the same bytes again and again. The first request says how many. */
import { createServer } from 'node:http'
import { listen } from '../harness/listen.ts'

let body = Buffer.from('{}')

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/body') body = Buffer.concat(chunks)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
      response.end(body)
    })
  }),
)
