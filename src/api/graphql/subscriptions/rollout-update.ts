import type { Change as ChangeRow } from '../../../domain/change.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Revision } from '../../../domain/values.ts'
import type { WatchOptions } from '../../../feed/watch-stream.ts'
import type { RolloutRow } from '../../../store/read/rollouts/rollouts.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { Change, Rollout } from '../objects/refs.ts'
import { findRollout, type RolloutWanted, rolloutArgs, wantedRollout } from '../objects/rollouts/rollout.ts'
import type { Source } from './event-source.ts'
import { type React, streamState } from './state-stream.ts'

interface RolloutUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly rollout: RolloutRow | null
  readonly changes: readonly ChangeRow[]
}

const RolloutUpdate = builder.objectRef<RolloutUpdateRow>('RolloutUpdate').implement({
  access: 'viewer',
  description: 'A rollout at one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Number of further commits that were merged into this update. Normally 0.',
    }),
    rollout: t.expose('rollout', {
      type: Rollout,
      nullable: true,
      description: 'The rollout. Null: it does not exist yet, or is forgotten.',
    }),
    changes: t.expose('changes', {
      type: [Change],
      description: 'The changes since the previous update, as in `Rollout.changes`.',
    }),
  }),
})

builder.subscriptionField('rollout', (t) =>
  t.field({
    access: 'viewer',
    type: RolloutUpdate,
    description:
      'One rollout. Sends the present state first, even if it does not exist yet, then an update whenever it or one of its deployments changes.',
    args: rolloutArgs(),
    subscribe: (_, args, context) => {
      const wanted = wantedRollout(args)
      if (wanted.by === 'id' && (wanted.key === null || wanted.asOf !== null))
        throw new DomainError('BAD_USER_INPUT', 'id must be the node ID of a rollout without a past revision')
      return streamRollout(context, wanted)
    },
    resolve: (event) => event.payload,
  }),
)

/** A rollout given by name may not exist yet: watches created rollouts until it does, then only that rollout. */
function streamRollout(context: Context, wanted: RolloutWanted): Source<RolloutUpdateRow> {
  const known = wanted.by === 'id' ? wanted.key : null
  // For a caller with an access scope, a rollout can also become visible by a move, so all changes are watched.
  const untilCreated: WatchOptions = { topics: [context.principal.accessScope ? 'all' : 'created'] }
  const react: React<RolloutUpdateRow, Followed> = async (reader, event, { memory, sentUpTo }) => {
    const { cursor, coalesced } = event
    const { followed, isNew } = memory ?? { followed: known, isNew: false }
    const rollout = await findRollout(
      reader,
      followed === null ? wanted : { by: 'id', key: followed, asOf: null },
      null,
    )
    if (rollout && followed === null)
      return { follow: topic(rollout.key), memory: { followed: rollout.key, isNew: sentUpTo > 0 } }
    if (!rollout && sentUpTo > 0 && event.changes.length > 0 && followed === null) return { skip: true }
    if (!isNew) return { send: { cursor, coalesced, rollout, changes: event.changes }, memory: { followed, isNew } }
    // Its first changes were sent before its key was known. Their times distinguish their commits.
    const changes = await changesSince(reader, sentUpTo, followed ?? 0)
    const commits = new Set(changes.map(({ at }) => at)).size
    return {
      send: { cursor, coalesced: Math.max(commits - 1, 0), rollout, changes },
      memory: { followed, isNew: false },
    }
  }
  return streamState(context, `rollout ${JSON.stringify(wanted)}`, known === null ? untilCreated : topic(known), react)
}

interface Followed {
  /** The key of the rollout. Null: it does not exist yet. */
  readonly followed: number | null
  /** Whether it was created since the last update. */
  readonly isNew: boolean
}

/** Changes in the first update of a new rollout. Its history has the rest. */
const maxFirstChanges = 10_000

function topic(key: number): WatchOptions {
  return { topics: [`rollout:${key}`] }
}

async function changesSince(reader: Reader, after: Revision, rolloutKey: number): Promise<readonly ChangeRow[]> {
  const page = { size: maxFirstChanges, after: String(after), before: null, backward: false }
  const found = await reader.changes({ of: 'fleet' }, { rolloutKeys: [rolloutKey] }, page, null)
  return found?.edges.map(({ node }) => node) ?? []
}
