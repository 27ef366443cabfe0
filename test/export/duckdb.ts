/** Reads files with DuckDB, which shares no code with what wrote them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'

export type Found = Readonly<Record<string, unknown>>

export interface Duck {
  /** Runs a statement about the file of these bytes, which it names FILE. */
  ask(bytes: Uint8Array, statement: string): Promise<Found[]>
  /** The same about files that exist. FILE may be a pattern. */
  askFiles(files: string, statement: string): Promise<Found[]>
  close(): Promise<void>
}

export async function openDuck(): Promise<Duck> {
  const folder = await mkdtemp(join(tmpdir(), 'duck-'))
  let files = 0
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  await connection.run("set timezone = 'UTC'")
  const askFiles = async (files: string, statement: string): Promise<Found[]> => {
    const reader = await connection.runAndReadAll(statement.replaceAll('FILE', `'${files}'`))
    return reader.getRowObjectsJson() as Found[]
  }
  return {
    askFiles,
    async ask(bytes, statement) {
      // A name of its own: DuckDB keeps pages of a file, and takes them for its content while its time and its size are the same.
      files += 1
      const file = join(folder, String(files))
      await writeFile(file, bytes)
      return askFiles(file, statement).finally(() => rm(file))
    },
    async close() {
      connection.closeSync()
      instance.closeSync()
      await rm(folder, { recursive: true })
    },
  }
}
