/**
 * The floor of taking a report: a bare server that parses the JSON, and answers 201 after the COMMIT of one batched insert of the same bytes, into one
 * table without an index. What arrives during an insert is the next batch. On PGlite in DATA_DIR where there is no DATABASE_URL. With COMMIT=each,
 * each report is a transaction that PGlite syncs.
 */
import { createServer } from 'node:http'
import { PGlite } from '@electric-sql/pglite'
import postgres from 'postgres'
import { openFiles } from '../../../src/store/connection/embedded/files.ts'
import { listen } from '../harness/listen.ts'

const answer = Buffer.from('{"acknowledgement":"received","verdict":"APPLIED","revision":"1780000000000000"}')

const { DATABASE_URL: url, DATA_DIR: dataDir = '', COMMIT } = process.env
const most = COMMIT === 'each' ? 1 : Number.POSITIVE_INFINITY
const run: (text: string, parameters?: string[][]) => Promise<unknown> = url ? onPostgres(url) : await onPglite()
await run('create table kept (body text not null)')

function onPostgres(address: string): typeof run {
  const sql = postgres(address, { max: 1 })
  return (text, parameters = []) => sql.unsafe(text, parameters as never[], { prepare: true })
}

async function onPglite(): Promise<typeof run> {
  const fail = (): never => process.exit(1)
  const files = { dataDir, isSynced: COMMIT === 'each', unsynced: [], isOpen: () => true }
  const database = await PGlite.create(openFiles(files, fail))
  return (text, parameters) => database.query(text, parameters)
}

let waiting: { readonly body: string; readonly done: () => void }[] = []
let isWriting = false

async function write(): Promise<void> {
  isWriting = true
  while (waiting.length > 0) {
    const batch = waiting.slice(0, most)
    waiting = waiting.slice(most)
    await run('insert into kept select unnest($1::text[])', [batch.map(({ body }) => body)])
    for (const { done } of batch) done()
  }
  isWriting = false
}

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const report: { deploymentId?: unknown } = JSON.parse(body)
      const status = typeof report.deploymentId === 'string' ? 201 : 422
      const done = (): void => {
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': answer.length })
        response.end(answer)
      }
      waiting.push({ body, done })
      if (!isWriting) void write()
    })
  }),
)
