/**
 * A rollout as of a past revision has an ID of its own, and older links have that ID without a time. The API shows the past for it, at whatever time
 * is chosen. So the address is replaced by one with the present ID and the time of the revision.
 */
import { useEffect } from 'preact/hooks'
import { chosenTime, replace } from '../route.ts'
import { ask } from './api.ts'
import { graphql } from './graphql.ts'
import { useAsked } from './use-query.ts'

const datedDocument = graphql(`query DatedRollout($id: ID!) { rollout(id: $id) { presentId asOf } }`)

const timeDocument = graphql(`
  query TimeOfRevision($before: Revision!) { changes(before: $before, last: 1) { nodes { at } } history { oldestTime } }
`)

/** `found` null: the ID is that of the present. */
async function findPlace(id: string, signal: AbortSignal) {
  const { rollout } = await ask(datedDocument, { id }, signal)
  if (!rollout || rollout.asOf === null) return { found: null }
  const { changes, history } = await ask(timeDocument, { before: String(BigInt(rollout.asOf) + 1n) }, signal)
  // Of the oldest revision only the state is stored, not its change.
  return { found: { presentId: rollout.presentId, time: changes.nodes[0]?.at ?? history.oldestTime } }
}

/** `isOn`: the ID may have a past revision. `isReplacing`: until the address is replaced, the page must show nothing. */
export function useDatedId(id: string, isOn: boolean) {
  const { data, error } = useAsked(id, (signal) => findPlace(id, signal), { isOff: !isOn })
  const found = data?.found
  useEffect(() => {
    if (isOn && found) replace(['rollout', found.presentId], { at: chosenTime.value ?? found.time })
  }, [isOn, found])
  return { isReplacing: isOn && found !== null, error }
}
