/** The floor of a query: a bare server that runs the one statement which answers it, and stringifies the rows. */
import { createServer } from 'node:http'
import { listen } from '../harness/listen.ts'
import { createReads } from '../peers/reads.ts'

const reads = createReads(process.env.DATABASE_URL ?? '')

async function read({ query, variables }: Request): Promise<object> {
  const { after = null, name = '', id = '', device = '' } = variables
  if (query.startsWith('query Page')) return { deployments: await reads.page(after) }
  if (query.startsWith('query Rollout')) return { rollout: await reads.rollout(name) }
  return { deployment: await reads.deployment(id, device) }
}

interface Request {
  readonly query: string
  readonly variables: Readonly<Record<string, string>>
}

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      read(JSON.parse(Buffer.concat(chunks).toString())).then(
        (data) => {
          const body = JSON.stringify({ data })
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
          response.end(body)
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    })
  }),
)
