/**
 * The marker: a retained message with the revision that the retained messages of the broker have reached. A broker that is killed returns with what
 * it had written last, and the marker with it. So the marker says where to continue. A flag in the database was rejected, because it cannot know what
 * the broker has lost.
 */
import type { Revision } from '../../domain/values.ts'
import type { LogHead } from '../../store/database.ts'
import { topicOf } from '../rest/contract/topics.ts'
import { brokerLost, type Connection } from './connection.ts'
import type { Publication } from './present.ts'
import { readRetained } from './retained.ts'

export const markerTopicOf = (prefix: string): string => topicOf(prefix, 'revision', {})

export function markerOf(prefix: string, reached: Revision, epoch: Revision): Publication {
  const payload = JSON.stringify({ revision: String(reached), epoch: String(epoch) })
  return { topic: markerTopicOf(prefix), payload, isRetained: true }
}

interface MarkerOptions {
  readonly prefix: string
  readonly head: LogHead
  /** Milliseconds that the broker may pause. */
  readonly pause: number | undefined
}

/** The revision of the marker. Null: there is none that can be continued from. Throws if the connection is lost. */
export async function readMarker(
  connection: Connection,
  { prefix, head, pause }: MarkerOptions,
): Promise<Revision | null> {
  const filter = markerTopicOf(prefix)
  let found = ''
  const take = async (part: ReadonlyMap<string, string>): Promise<boolean> => {
    found = part.get(filter) ?? found
    return true
  }
  if (!(await readRetained(connection, { prefix, filter, take, pause }))) throw brokerLost()
  const { revision, epoch } = parseMarker(found)
  const isUsable =
    Number.isSafeInteger(revision) &&
    epoch === String(head.epochBase) &&
    revision >= head.tail &&
    revision <= head.revision
  return isUsable ? revision : null
}

/** Another client may have written there. */
function parseMarker(text: string): { readonly revision: Revision; readonly epoch: unknown } {
  try {
    const { revision, epoch } = JSON.parse(text)
    return { revision: Number(revision), epoch }
  } catch {
    return { revision: Number.NaN, epoch: null }
  }
}
