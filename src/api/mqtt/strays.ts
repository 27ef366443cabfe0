/** What the broker has retained beyond the fleet, because it has lost a withdrawal, or another client has put it there. */
import type { Session } from '../../store/database.ts'
import { brokerLost, type Connection } from './connection.ts'
import { markerTopicOf } from './marker.ts'
import { presentTopics } from './present.ts'
import { readRetained } from './retained.ts'

interface StraysOptions {
  readonly prefix: string
  /** Reading ends when so many are found, so memory is bounded whatever the broker has. */
  readonly most: number
  /** Milliseconds that the broker may pause. */
  readonly pause: number | undefined
}

/** Topics of retained messages that the fleet has nothing for. Throws if the connection is lost. */
export async function findStrays(
  connection: Connection,
  session: Session,
  { prefix, most, pause }: StraysOptions,
): Promise<ReadonlySet<string>> {
  const strays = new Set<string>()
  const take = async (part: ReadonlyMap<string, string>): Promise<boolean> => {
    const topics = [...part.keys()].filter((topic) => topic !== markerTopicOf(prefix))
    const present = await presentTopics(session, prefix, topics)
    for (const topic of topics) if (!present.has(topic)) strays.add(topic)
    return strays.size < most
  }
  if (!(await readRetained(connection, { prefix, filter: `${prefix}/present/#`, take, pause }))) throw brokerLost()
  return strays
}
