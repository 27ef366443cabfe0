/**
 * PGlite computes on the thread that calls it, so it has its own thread. Each statement is one message, and answers come in order.
 * Statements are prepared once, as postgres.js does: PGlite's `query` parses and plans each time, which takes longer than most statements.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { zstdDecompressSync } from 'node:zlib'
import { PGlite, type PGliteOptions, parse, protocol } from '@electric-sql/pglite'
import { embeddedFile, isExecutable } from '../../../platform/installation.ts'
import { isKept } from '../kept-plan.ts'
import { countingParsers, mostCharacters } from '../reading.ts'
import { type FileFailure, openFiles } from './files.ts'
import { unpackTemplate } from './pglite-template.ts'

export interface WorkerData {
  /** Undefined: in memory. */
  readonly dataDir: string | undefined
  /** An initialised directory (make-template.mjs), for a database that does not exist yet. */
  readonly template: Uint8Array | undefined
  /** Whether a commit waits until it is on the disk. In memory it has no effect. */
  readonly isSynced?: boolean
  /** Files and folders that an earlier thread could not sync. */
  readonly unsynced?: readonly string[]
}

export type WorkerRequest =
  /** `isBounded`: an answer of more than `mostCharacters` is refused (reading.ts). */
  | {
      readonly id: number
      readonly text: string
      readonly parameters: readonly unknown[]
      readonly isBounded: boolean
    }
  | { readonly id: number; readonly close: true }

/** The receiver has taken a part of an answer: the next part may follow. */
export interface PartTaken {
  readonly taken: true
}

export type WorkerAnswer =
  /** `hasMore`: further rows follow after these are taken. */
  | { readonly id: number; readonly rows: object[]; readonly hasMore: boolean; readonly characters: number }
  | { readonly id: number; readonly isTooMuch: true }
  /** `isLost`: PostgreSQL has ended, and a further statement would wait for its locks for ever. */
  | {
      readonly id: number
      readonly error: { readonly message: string; readonly code: string | undefined }
      readonly isLost: boolean
    }
  /** The thread ends. */
  | { readonly failure: FileFailure }

/**
 * PGlite creates a TextDecoder for each value, which by default removes a U+FEFF at the beginning. A device whose name begins with one would
 * be another device. PGlite has no option for that, so the default changes for this thread, where only PGlite decodes.
 */
globalThis.TextDecoder = class extends TextDecoder {
  constructor(label?: string, options?: TextDecoderOptions) {
    super(label, { ignoreBOM: true, ...options })
  }
}

const port = parentPort
if (!port) throw new Error('pglite-worker runs as a worker thread only')

const { dataDir, template, isSynced = false, unsynced = [] } = workerData as WorkerData
let isOpen = false
const database = open()

async function open(): Promise<PGlite> {
  const options = isExecutable ? embeddedPglite() : {}
  if (dataDir === undefined)
    return PGlite.create({
      ...options,
      ...(template && { loadDataDir: new Blob([zstdDecompressSync(template)]) }),
    })
  // Here, because the server's thread loads modules meanwhile.
  if (template) await unpackTemplate(template, dataDir)
  return PGlite.create({ ...options, ...openFiles({ dataDir, isSynced, unsynced, isOpen: () => isOpen }, fail) })
}

/** PGlite reads these beside its module, which is not a file here. */
function embeddedPglite(): PGliteOptions {
  const fileOf = (name: string) => new Uint8Array(embeddedFile(`node_modules/@electric-sql/pglite/dist/${name}`))
  return {
    pgliteWasmModule: new WebAssembly.Module(fileOf('pglite.wasm')),
    initdbWasmModule: new WebAssembly.Module(fileOf('initdb.wasm')),
    fsBundle: new Blob([fileOf('pglite.data')]),
  }
}

function fail(failure: FileFailure): never {
  port?.postMessage({ failure } satisfies WorkerAnswer)
  process.exit(1)
}

let turn: Promise<void> = database.then(
  () => {
    isOpen = true
  },
  () => undefined,
)
let partTaken: () => void = () => undefined
port.on('message', (request: WorkerRequest | PartTaken) => {
  if ('taken' in request) return partTaken()
  turn = turn.then(async () => {
    for await (const part of answer(request)) port.postMessage(part)
    if ('close' in request) port.close()
  })
})

async function* answer(request: WorkerRequest): AsyncGenerator<WorkerAnswer> {
  const { id } = request
  try {
    const pglite = await database
    if ('close' in request) {
      await pglite.close()
      return yield { id, rows: [], hasMore: false, characters: 0 }
    }
    characters = 0
    const parts = await run(pglite, request.text, request.parameters)
    if (request.isBounded && characters > mostCharacters) return yield { id, isTooMuch: true }
    for (const [index, rows] of parts.entries()) {
      const hasMore = index < parts.length - 1
      const taken = hasMore && new Promise<void>((resolve) => (partTaken = resolve))
      yield { id, rows, hasMore, characters }
      await taken
    }
  } catch (error) {
    const { message, code, routine, severity } = error as Readonly<Record<string, string | undefined>>
    // A newer version has added a column: every earlier prepared statement would fail like this one.
    if (routine === 'RevalidateCachedQuery') prepared.clear()
    // After an error of its files (class 58), such as for lack of a descriptor, PGlite may never again accept a file that it made itself.
    const isFailed = code?.startsWith('58') || error instanceof WebAssembly.RuntimeError
    const isLost = !isOpen || isFailed || severity === 'FATAL' || severity === 'PANIC'
    yield { id, error: { message: message ?? String(error), code }, isLost }
  }
}

const { serialize } = protocol
const mostPrepared = 1_000
/** Names of prepared statements, by text. */
const prepared = new Map<string, string>()
let named = 0

/** Merged once: to merge them takes as long as a short statement. */
let merged: PGlite['parsers'] | undefined
const parsersOf = (pglite: PGlite): PGlite['parsers'] => (merged ??= { ...pglite.parsers, ...counting })
/** Of the present answer. */
let characters = 0
const counting = countingParsers((read) => {
  characters += read
})

/** Answers in one part, or in several parts for very many bytes. */
async function run(pglite: PGlite, text: string, parameters: readonly unknown[]): Promise<object[][]> {
  const mustKeep = isKept(text, parameters)
  const known = mustKeep ? prepared.get(text) : undefined
  const name = mustKeep ? (known ?? `s${++named}`) : ''
  const values = parameters.map((value) => (value === null || value === undefined ? null : String(value)))
  const messages = [
    ...(known === undefined ? [serialize.parse({ name, text })] : []),
    serialize.bind({ statement: name, values }),
    serialize.describe({ type: 'P' }),
    serialize.execute({}),
    serialize.sync(),
  ]
  const { messages: answers, data } = await pglite.execProtocol(Buffer.concat(messages))
  if (mustKeep && known === undefined) await keep(pglite, text, name)
  const [result] = parse.parseResults(answers, parsersOf(pglite))
  const rows = (result?.rows ?? []) as object[]
  return data.length <= partSize ? [rows] : inParts(rows, answers)
}

/**
 * Bytes of rows in one message. The receiving thread deserializes a message without a pause, so megabytes of JSON would block everything else
 * on it.
 */
const partSize = 256 * 1024

function inParts(rows: readonly object[], answers: readonly { readonly name: string; readonly length: number }[]) {
  const sizes = answers.filter(({ name }) => name === 'dataRow').map(({ length }) => length)
  const parts: object[][] = []
  let size = partSize
  for (const [index, row] of rows.entries()) {
    if (size >= partSize) {
      parts.push([])
      size = 0
    }
    parts.at(-1)?.push(row)
    size += sizes[index] ?? 0
  }
  return parts
}

/** Evicts the least recently used statement. */
async function keep(pglite: PGlite, text: string, name: string): Promise<void> {
  prepared.set(text, name)
  const [oldest] = prepared
  if (prepared.size <= mostPrepared || !oldest) return
  prepared.delete(oldest[0])
  await pglite.execProtocol(Buffer.concat([serialize.close({ type: 'S', name: oldest[1] }), serialize.sync()]))
}
