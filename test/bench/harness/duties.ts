/** The background duties of a server whose fleet was seeded: their work would be measured with what is asked. */
import type { Lab } from './bench.ts'
import { ask } from './clients/graphql.ts'
import { WrongAnswer } from './closed-loop.ts'
import type { Program } from './process.ts'

interface Duty {
  readonly name: string
  readonly lastSuccess: string | null
  readonly seconds: number
  /** Null: it reads no log. */
  readonly cursor: string | null
}

/** What reads the log of a seeded fleet before it is asked. */
const following: ReadonlySet<string> = new Set(['checkpoints', 'search'])

/**
 * Waits until each background duty has succeeded once, and the checkpoints and the indexes beside the deployments have reached the head of the log. Standstills follow:
 * they read a log that no server has followed for a minute each 300,000 entries or less, on PostgreSQL.
 */
export async function runDuties(server: Program, lab: Lab): Promise<string[]> {
  const { history } = await ask<{ history: { newestRevision: string } }>(
    `${server.url}/graphql`,
    '{ history { newestRevision } }',
  )
  const head = history.newestRevision
  const began = performance.now()
  for (;;) {
    const { duties } = (await (await fetch(`${server.url}/readyz?verbose`)).json()) as { duties: readonly Duty[] }
    const isDone =
      [...following].every((name) => duties.some((duty) => duty.name === name)) &&
      duties.every(
        ({ name, lastSuccess, cursor }) => lastSuccess && (!following.has(name) || Number(cursor) >= Number(head)),
      )
    const seconds = Math.round((performance.now() - began) / 1000)
    if (isDone) {
      lab.say(`  every duty was done after ${seconds} s`)
      return duties.map((duty) => `duty ${duty.name}: last round ${duty.seconds.toFixed(2)} s`)
    }
    if (seconds > 1_800) throw new WrongAnswer(`duties are not done after half an hour: ${JSON.stringify(duties)}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
