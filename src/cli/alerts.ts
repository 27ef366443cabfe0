/** `rollcall alerts`, and the alerts that `rollcall wait --no-alerts` looks for. */
import type { Api } from './api.ts'
import { type Connection, type Output, pages } from './get.ts'
import { isRollout, type RolloutKey, rolloutKeyFields, type ShownRollout } from './selection.ts'
import { jsonLine, momentOf } from './show.ts'
import { table } from './terminal.ts'

interface ShownAlert {
  readonly rule: string
  readonly severity: string
  readonly state: string
  readonly summary: string
  readonly raisedAt: string
  readonly rollout: ShownRollout | null
  readonly acknowledgement: { readonly by: string } | null
}

const document = `query Alerts($states: [AlertState!], $first: Int!, $after: String) {
  alerts(filter: { states: $states }, first: $first, after: $after) {
    nodes { id rule severity state summary raisedAt rollout { ${rolloutKeyFields} } acknowledgement { by comment } }
    pageInfo { hasNextPage endCursor }
  }
}`

function alertsIn(api: Api, states: readonly string[], limit: number): AsyncIterable<ShownAlert> {
  return pages<ShownAlert>(limit, (page) =>
    api.ask<{ alerts: Connection<ShownAlert> }>(document, { states, ...page }).then((data) => data.alerts),
  )
}

export async function getAlerts(api: Api, { terminal, isJson }: Output, isAll: boolean, limit: number): Promise<void> {
  const rows = [['SEVERITY', 'STATE', 'RULE', 'ROLLOUT', 'SINCE', 'ACKNOWLEDGED', 'WHEN RAISED']]
  for await (const alert of alertsIn(api, isAll ? ['FIRING', 'RESOLVED'] : ['FIRING'], limit)) {
    const { rule, severity, state, summary, raisedAt, rollout, acknowledgement } = alert
    if (isJson) terminal.write(jsonLine(alert))
    else
      rows.push([
        severity.toLowerCase(),
        state.toLowerCase(),
        rule,
        rollout?.name ?? '-',
        momentOf(raisedAt),
        acknowledgement?.by ?? '-',
        summary,
      ])
  }
  if (isJson) return
  terminal.write(rows.length > 1 ? `${table(rows).join('\n')}\n` : 'No alerts.\n')
}

/** Those of the rollout and of the fleet. Null: all. */
export async function firingAlerts(api: Api, rollout: RolloutKey | null): Promise<readonly ShownAlert[]> {
  const found: ShownAlert[] = []
  for await (const alert of alertsIn(api, ['FIRING'], Number.POSITIVE_INFINITY)) {
    const isOfOther = rollout !== null && alert.rollout !== null && !isRollout(rollout, alert.rollout)
    if (!isOfOther) found.push(alert)
  }
  return found
}

export function describeAlert({ rule, severity, rollout, summary }: ShownAlert): string {
  return `${rule} (${severity.toLowerCase()})${rollout ? ` of ${rollout.name}` : ''}: ${summary}`
}
