/** The floor of taking a report: a bare server that parses the JSON and answers 201, and keeps nothing. */
import { createServer } from 'node:http'
import { listen } from '../harness/listen.ts'

const answer = Buffer.from('{"acknowledgement":"received","verdict":"APPLIED","revision":"1780000000000000"}')

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const report: { deploymentId?: unknown } = JSON.parse(Buffer.concat(chunks).toString())
      const status = typeof report.deploymentId === 'string' ? 201 : 422
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': answer.length })
      response.end(answer)
    })
  }),
)
