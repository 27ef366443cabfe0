/** Capacity: every connection sends its next request as soon as it has its answer. */
import { type Answer, type HttpConnection, openConnections } from './clients/http-connection.ts'
import type { Sample } from './rounds.ts'

export interface Load {
  /** Opened for each measurement: a server closes those that are idle while the others are measured. */
  readonly connections: number
  /** The next request of a connection. */
  next(connection: number): Buffer
  /** What is wrong with an answer; null: nothing. */
  check(connection: number, answer: Answer): string | null
}

export interface Watched {
  /** Seconds of processor time so far. */
  cpu(): number
}

export interface Measured {
  readonly server: Watched & { readonly port: number | readonly number[] }
  readonly database?: Watched | undefined
  /** Absent: plain connections to the server. */
  readonly open?: ((count: number) => Promise<readonly HttpConnection[]>) | undefined
}

/** Runs a while unmeasured, then for `seconds`; every request that was sent is waited for. Throws at a wrong answer. */
export async function closedLoop(load: Load, { server, database, open }: Measured, seconds: number): Promise<Sample> {
  const connections = await (open ?? ((count) => openConnections(server.port, count)))(load.connections)
  let operations = 0
  let isOver = false
  let wrong: string | null = null

  async function work(connection: HttpConnection, index: number): Promise<void> {
    while (!isOver) {
      const answer = await connection.send(load.next(index))
      operations += 1
      const problem = load.check(index, answer)
      if (problem) {
        wrong ??= problem
        isOver = true
      }
    }
  }

  const read = () => ({
    operations,
    time: performance.now(),
    server: server.cpu(),
    database: database?.cpu() ?? 0,
    client: process.cpuUsage(),
  })
  const workers = Promise.all(connections.map(work))
  // The failure of a connection is reported where its answer is awaited, below.
  workers.catch(() => undefined)
  await pause(Math.min(500, seconds * 250))
  const before = read()
  await pause(seconds * 1000)
  const after = read()
  isOver = true
  await workers
  for (const connection of connections) connection.close()
  if (wrong) throw new WrongAnswer(wrong)
  const done = after.operations - before.operations
  const elapsed = (after.time - before.time) / 1000
  const perOperation = (used: number): number => (used / done) * 1e6
  const client = process.cpuUsage(before.client)
  return {
    rate: done / elapsed,
    serverCpu: perOperation(after.server - before.server),
    databaseCpu: database ? perOperation(after.database - before.database) : null,
    clientCpu: (client.user + client.system) / 1e6 / ((performance.now() - before.time) / 1000),
  }
}

export class WrongAnswer extends Error {}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}
