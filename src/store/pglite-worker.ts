/** PGlite computes on the thread that calls it, so it gets one of its own. One message a statement, answered in order. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
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
    const { rows } = await pglite.query<object>(request.text, [...request.parameters], { parsers })
    return { id, rows }
  } catch (error) {
    const { message, code } = error as { message: string; code?: string }
    return { id, error: { message, code } }
  }
}
