import type { Change as ChangeRow } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import { DomainError } from '../domain/errors.ts'
import type { WatchOptions } from '../feed/watch-stream.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { Change } from './change.ts'
import type { Context } from './context.ts'
import type { Reader } from './loaders.ts'
import { findRollout, Rollout, type RolloutWanted, rolloutArgs, wantedRollout } from './rollout.ts'
import type { Source } from './source-event.ts'
import { type React, streamState } from './state-stream.ts'

interface RolloutUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly rollout: RolloutRow | null
  readonly changes: readonly ChangeRow[]
}

const RolloutUpdate = builder.objectRef<RolloutUpdateRow>('RolloutUpdate').implement({
  access: 'viewer',
  description: 'A rollout as of one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'As of which revision this is.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Further commits that were merged into this update; normally 0.',
    }),
    rollout: t.expose('rollout', {
      type: Rollout,
      nullable: true,
      description: 'The rollout; null when it is not there yet, or forgotten.',
    }),
    changes: t.expose('changes', { type: [Change], description: 'What led here since the update before.' }),
  }),
})

builder.subscriptionField('rollout', (t) =>
  t.field({
    access: 'viewer',
    type: RolloutUpdate,
    description:
      'One rollout: as it is now, also when it is not there yet, and again whenever one of its deployments changes.',
    args: rolloutArgs(),
    subscribe: (_, args, context) => {
      const wanted = wantedRollout(args)
      if (wanted.by === 'id' && (wanted.key === null || wanted.asOf !== null))
        throw new DomainError('BAD_USER_INPUT', 'id must be the node id of a rollout of the present')
      return streamRollout(context, wanted)
    },
    resolve: (event) => event.payload,
  }),
)

/** By name it may not be there yet: births are watched until it is, and from then on only what concerns it. */
function streamRollout(context: Context, wanted: RolloutWanted): Source<RolloutUpdateRow> {
  const known = wanted.by === 'id' ? wanted.key : null
  // Who sees less may come to see it by what is no birth: a move.
  const unborn: WatchOptions = { topics: [context.identity.sight ? 'all' : 'births'] }
  const react: React<RolloutUpdateRow, Followed> = async (reader, event, { memory, sentUpTo }) => {
    const { cursor, coalesced } = event
    const { followed, isBorn } = memory ?? { followed: known, isBorn: false }
    const rollout = await findRollout(
      reader,
      followed === null ? wanted : { by: 'id', key: followed, asOf: null },
      null,
    )
    if (rollout && followed === null)
      return { follow: topic(rollout.key), memory: { followed: rollout.key, isBorn: sentUpTo > 0 } }
    if (!rollout && sentUpTo > 0 && event.changes.length > 0 && followed === null) return { skip: true }
    // Its first changes came before anybody could know its key.
    const changes = isBorn ? await changesSince(reader, sentUpTo, followed ?? 0) : event.changes
    return { send: { cursor, coalesced, rollout, changes }, memory: { followed, isBorn: false } }
  }
  return streamState(context, known === null ? unborn : topic(known), react)
}

interface Followed {
  /** Null: it is not there yet. */
  readonly followed: number | null
  /** It came to be since what was sent last. */
  readonly isBorn: boolean
}

/** Further changes of a rollout that was just made are left to its history. */
const maxToldAtBirth = 10_000

function topic(key: number): WatchOptions {
  return { topics: [`rollout:${key}`] }
}

async function changesSince(reader: Reader, after: Revision, rolloutKey: number): Promise<readonly ChangeRow[]> {
  const page = { size: maxToldAtBirth, after: String(after), before: null, backward: false }
  const found = await reader.changes({ of: 'fleet' }, { rolloutKeys: [rolloutKey] }, page, null)
  return found?.edges.map(({ node }) => node) ?? []
}
