/** Saves the labels that a batch gives to rollouts. */
import type { RolloutLabels } from '../../../domain/rollout.ts'
import { storableJson } from '../../../domain/text.ts'
import { type Put, putText } from './put.ts'

/** Each list ends where the next one of its rollout begins, in the batch or the one before it. */
const endFormer = `update rollout_labels l set until = x.since
  from (select "rolloutKey", min(since) as since from json_to_recordset($1::text::json) as x("rolloutKey" bigint, since bigint) group by 1) x
  where l.rollout_key = x."rolloutKey" and l.until is null`
const insert = `insert into rollout_labels (rollout_key, since, until, labels)
  select "rolloutKey", since, lead(since) over (partition by "rolloutKey" order by since), labels
  from json_to_recordset($1::text::json) as x("rolloutKey" bigint, since bigint, labels jsonb)`

export function* putRolloutLabels(changed: readonly RolloutLabels[]): Iterable<Put> {
  if (changed.length === 0) return
  const parameters = [storableJson(changed)]
  yield putText({ text: endFormer, parameters })
  yield putText({ text: insert, parameters })
}
