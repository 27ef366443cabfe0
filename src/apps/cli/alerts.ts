/** `rollcall alerts`, and the alerts that `rollcall wait --no-alerts` looks for. */
import type { Api } from './api.ts'
import { type List, type Output, printList, readNodes } from './list.ts'
import { isRollout, type RolloutKey, rolloutKeyFields, type ShownRollout } from './selection.ts'
import { momentOf } from './show.ts'

interface ShownAlert {
  readonly rule: string
  readonly severity: string
  readonly state: string
  readonly summary: string
  readonly raisedAt: string
  readonly rollout: ShownRollout | null
  readonly acknowledgement: { readonly by: string } | null
}

const listOf = (states: readonly string[]): List<ShownAlert> => ({
  of: 'alerts',
  filter: ['AlertFilter', { states }],
  fields: `id rule severity state summary raisedAt rollout { ${rolloutKeyFields} } acknowledgement { by comment }`,
  head: ['SEVERITY', 'STATE', 'RULE', 'ROLLOUT', 'SINCE', 'ACKNOWLEDGED', 'WHEN RAISED'],
  row: ({ severity, state, rule, rollout, raisedAt, acknowledgement, summary }) => [
    ...[severity.toLowerCase(), state.toLowerCase(), rule, rollout?.name ?? '-', momentOf(raisedAt)],
    ...[acknowledgement?.by ?? '-', summary],
  ],
  empty: 'No alerts.',
})

export function getAlerts(api: Api, output: Output, isAll: boolean, limit: number): Promise<void> {
  return printList(api, output, listOf(isAll ? ['FIRING', 'RESOLVED'] : ['FIRING']), limit)
}

/** Those of the rollout and of the fleet. Null: all. */
export async function firingAlerts(api: Api, rollout: RolloutKey | null): Promise<readonly ShownAlert[]> {
  const found: ShownAlert[] = []
  for await (const alert of readNodes(api, listOf(['FIRING']), Number.POSITIVE_INFINITY)) {
    const isOfOther = rollout !== null && alert.rollout !== null && !isRollout(rollout, alert.rollout)
    if (!isOfOther) found.push(alert)
  }
  return found
}

export function describeAlert({ rule, severity, rollout, summary }: ShownAlert): string {
  return `${rule} (${severity.toLowerCase()})${rollout ? ` of ${rollout.name}` : ''}: ${summary}`
}
