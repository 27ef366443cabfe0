/**
 * A rollout as of a past revision has an ID of its own, and older links have that ID without a time. The API shows the past for it, at whatever time
 * is chosen. So the address is replaced by one with the present ID and the time of the revision.
 */
import { useEffect } from 'preact/hooks'
import { ApiError } from '../../client/client.ts'
import { chosenTime, go, replace } from '../route.ts'
import { ask } from './api.ts'
import { graphql } from './graphql.ts'
import { useAsked } from './use-query.ts'

const datedDocument = graphql(`query DatedRollout($id: ID!) { rollout(id: $id) { presentId asOf } }`)

const timeDocument = graphql(`
  query TimeOfRevision($before: Revision!) { changes(before: $before, last: 1) { nodes { at } } history { oldestTime } }
`)

/** A filter by rollouts takes the ID of any revision, also of one that has expired. */
const presentDocument = graphql(`
  query PresentRollout($ids: [ID!]) { deployments(filter: { rolloutIds: $ids }, first: 1) { nodes { rollout { presentId } } } }
`)

/** `presentId` null: the rollout has no deployments now. `time` null: the revision has expired. */
interface Place {
  readonly presentId: string | null
  readonly time: string | null
  readonly error: ApiError | null
}

/** `found` null: the ID is that of the present. */
async function findPlace(id: string, signal: AbortSignal): Promise<{ readonly found: Place | null }> {
  try {
    const { rollout } = await ask(datedDocument, { id }, signal)
    if (!rollout || rollout.asOf === null) return { found: null }
    const { changes, history } = await ask(timeDocument, { before: String(BigInt(rollout.asOf) + 1n) }, signal)
    // Of the oldest revision only the state is stored, not its change.
    const time = changes.nodes[0]?.at ?? history.oldestTime
    return { found: { presentId: rollout.presentId, time, error: null } }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'HISTORY_EXPIRED') throw error
    const { deployments } = await ask(presentDocument, { ids: [id] }, signal)
    return { found: { presentId: deployments.nodes[0]?.rollout.presentId ?? null, time: null, error } }
  }
}

/**
 * `isOn`: the ID may have a past revision. `isReplacing`: until the address is replaced, the page must show nothing but the error. `toNow`: shows the
 * rollout as it is now, or all rollouts if it has no deployments.
 */
export function useDatedId(id: string, isOn: boolean) {
  const { data, error } = useAsked(id, (signal) => findPlace(id, signal), { isOff: !isOn })
  const found = data?.found
  const presentId = found?.presentId ?? null
  const time = chosenTime.value ?? found?.time ?? null
  useEffect(() => {
    if (isOn && presentId !== null && time !== null) replace(['rollout', presentId], { at: time })
  }, [isOn, presentId, time])
  const toNow = (): void =>
    presentId === null ? go(['rollouts'], { at: null }) : replace(['rollout', presentId], { at: null })
  return { isReplacing: isOn && found !== null, error: error ?? found?.error ?? null, toNow }
}
