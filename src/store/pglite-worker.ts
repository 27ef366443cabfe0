/**
 * PGlite computes on the thread that calls it, so it gets one of its own. One message a statement, answered in order. Statements are
 * prepared once, as postgres.js does: its own `query` parses and plans them each time, which takes longer than most of them run.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, parse, protocol } from '@electric-sql/pglite'
import { parsers } from './values.ts'

export interface WorkerData {
  /** Undefined: in memory. */
  readonly dataDir: string | undefined
  /** An initialised directory as a tar, for a database that does not exist yet. */
  readonly template: Uint8Array | undefined
}

export type WorkerRequest =
  | { readonly id: number; readonly text: string; readonly parameters: readonly unknown[] }
  | { readonly id: number; readonly dump: true }
  | { readonly id: number; readonly close: true }

export type WorkerAnswer =
  | { readonly id: number; readonly rows: object[] }
  | { readonly id: number; readonly tar: Uint8Array }
  | { readonly id: number; readonly error: { readonly message: string; readonly code: string | undefined } }

const port = parentPort
if (!port) throw new Error('pglite-worker runs as a worker thread only')

const { dataDir, template } = workerData as WorkerData
const database = PGlite.create({
  ...(dataDir === undefined ? {} : { dataDir }),
  ...(template === undefined ? {} : { loadDataDir: new Blob([template as Uint8Array<ArrayBuffer>]) }),
})

let turn: Promise<void> = database.then(
  () => undefined,
  () => undefined,
)
port.on('message', (request: WorkerRequest) => {
  turn = turn.then(async () => {
    port.postMessage(await answer(request))
    if ('close' in request) port.close()
  })
})

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  const { id } = request
  try {
    const pglite = await database
    if ('dump' in request) {
      const file = await pglite.dumpDataDir('none')
      return { id, tar: new Uint8Array(await file.arrayBuffer()) }
    }
    if ('close' in request) {
      await pglite.close()
      return { id, rows: [] }
    }
    return { id, rows: await run(pglite, request.text, request.parameters) }
  } catch (error) {
    const { message, code, routine } = error as { message: string; code?: string; routine?: string }
    // A newer version has added a column: each that was prepared before would fail like this one.
    if (routine === 'RevalidateCachedQuery') prepared.clear()
    return { id, error: { message, code } }
  }
}

const { serialize } = protocol
const mostPrepared = 1_000
/** Names by text. */
const prepared = new Map<string, string>()
let named = 0

async function run(pglite: PGlite, text: string, parameters: readonly unknown[]): Promise<object[]> {
  const known = prepared.get(text)
  const name = known ?? `s${++named}`
  const values = parameters.map((value) => (value === null || value === undefined ? null : String(value)))
  const messages = [
    ...(known === undefined ? [serialize.parse({ name, text })] : []),
    serialize.bind({ statement: name, values }),
    serialize.describe({ type: 'P' }),
    serialize.execute({}),
    serialize.sync(),
  ]
  const answers = (await pglite.execProtocol(Buffer.concat(messages))).messages
  if (known === undefined) await keep(pglite, text, name)
  const [result] = parse.parseResults(answers, { ...pglite.parsers, ...parsers })
  return (result?.rows ?? []) as object[]
}

/** What was asked for longest ago makes room. */
async function keep(pglite: PGlite, text: string, name: string): Promise<void> {
  prepared.set(text, name)
  const [oldest] = prepared
  if (prepared.size <= mostPrepared || !oldest) return
  prepared.delete(oldest[0])
  await pglite.execProtocol(Buffer.concat([serialize.close({ type: 'S', name: oldest[1] }), serialize.sync()]))
}
