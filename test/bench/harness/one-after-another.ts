/** Questions that one client asks one after another: how many a second, and what each costs. */
import { WrongAnswer } from './closed-loop.ts'
import type { Sample } from './rounds.ts'

interface Watched {
  /** Seconds of processor time so far. */
  cpu(): number
}

/** `ask` returns what is wrong with the answer; null: nothing. At least one question is asked. */
export async function oneAfterAnother(
  ask: () => Promise<string | null>,
  { server, database }: { readonly server: Watched; readonly database: Watched },
  seconds: number,
): Promise<Sample> {
  const [began, used, stored, client] = [performance.now(), server.cpu(), database.cpu(), process.cpuUsage()]
  let count = 0
  do {
    const problem = await ask()
    if (problem) throw new WrongAnswer(problem)
    count += 1
  } while (performance.now() - began < seconds * 1_000)
  const elapsed = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(client)
  return {
    rate: count / elapsed,
    serverCpu: ((server.cpu() - used) / count) * 1e6,
    databaseCpu: ((database.cpu() - stored) / count) * 1e6,
    clientCpu: (user + system) / 1e6 / elapsed,
  }
}

let asked = 0

/** The data of a query that is never the same twice, so that no cache has the answer. Throws at any error. */
export async function askFresh<Data>(url: string, query: string): Promise<Data> {
  asked += 1
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, extensions: { nonce: asked } }),
  })
  const { data, errors } = (await response.json()) as { data?: Data; errors?: unknown }
  if (errors || data === undefined) throw new WrongAnswer(JSON.stringify(errors))
  return data
}
