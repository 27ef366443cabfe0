/** Facts that several tools give: their schemas, how they follow from the API's answers, and the lines of them. */
import { z } from 'zod'
import { idLength, mark, markId, markOrNull, quote, type Untrusted, untrusted } from './untrusted.ts'

const count = z.number().int()

export const counts = z
  .object({
    total: count,
    installed: count,
    installing: count,
    failed: count,
    pending: count,
    removing: count,
    removed: count,
    stalled: count.nullable().describe('Null in the past, where it is not known.'),
  })
  .describe('Deployments by state.')
export type Counts = z.infer<typeof counts>

export function sayCounts({ total, stalled, ...states }: Counts): string {
  const parts = Object.entries(states).flatMap(([state, number]) => (number > 0 ? [`${number} ${state}`] : []))
  return `${total} deployments${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${stalled ? `; ${stalled} stalled` : ''}`
}

export interface TargetData {
  readonly name: string
  readonly deviceId?: string
}

/** By which a device is asked for. */
export const idOf = ({ name, deviceId = name }: TargetData): string => deviceId

export interface ErrorData {
  readonly code: string
  readonly message: string
  readonly source: string | null
}
export const error = z.object({ code: untrusted, message: untrusted, source: untrusted.nullable() }).nullable()

export const errorOf = (data: ErrorData | null | undefined): z.infer<typeof error> =>
  data ? { code: mark(data.code), message: mark(data.message), source: markOrNull(data.source) } : null

export const sayError = (of: z.infer<typeof error>): string =>
  of === null ? '' : `: ${quote(of.code)} ${quote(of.message)}`

export interface CausesData {
  readonly totalCount: number
  readonly nodes: readonly {
    readonly key: string | null
    readonly detail: string | null
    readonly components: readonly string[]
    readonly since: string
    readonly counts: { readonly total: number }
  }[]
}
const cause = z.object({
  code: untrusted.nullable(),
  message: untrusted.nullable(),
  components: z.array(untrusted).describe('At most three.'),
  since: z.string(),
  deployments: count,
})
export const causes = z.array(cause).describe('Why deployments fail: groups of equal errors, the largest first.')

export const causesOf = ({ nodes }: CausesData): z.infer<typeof causes> =>
  nodes.map(({ key, detail, components, since, counts: { total } }) => ({
    code: markOrNull(key),
    message: markOrNull(detail),
    components: components.slice(0, 3).map((name) => mark(name)),
    since,
    deployments: total,
  }))

export const sayCauses = (rows: z.infer<typeof causes>): readonly string[] =>
  rows.map(
    ({ deployments, code, message, since }) =>
      `${deployments} failed${[code, message].map((part) => (part ? ` ${quote(part)}` : '')).join('')}, since ${since}`,
  )

export interface AlertsData {
  readonly totalCount: number
  readonly nodes: readonly {
    readonly id: string
    readonly rule: string
    readonly severity: string
    readonly summary: string
    readonly raisedAt: string
    readonly rollout: { readonly name: string } | null
    readonly acknowledgement: { readonly by: string } | null
  }[]
}
export const alerts = z
  .array(
    z.object({
      id: z.string(),
      severity: z.string(),
      raisedAt: z.string(),
      rule: untrusted,
      summary: untrusted,
      rollout: untrusted.nullable(),
      acknowledgedBy: untrusted.nullable(),
    }),
  )
  .describe('Alerts that fire, the newest first.')

export const alertsOf = ({ nodes }: AlertsData): z.infer<typeof alerts> =>
  nodes.map(({ id, severity, raisedAt, rule, summary, rollout, acknowledgement }) => ({
    id,
    severity,
    raisedAt,
    rule: mark(rule),
    summary: mark(summary),
    rollout: rollout && markId(rollout.name),
    acknowledgedBy: markOrNull(acknowledgement?.by),
  }))

export const sayAlerts = (rows: z.infer<typeof alerts>): readonly string[] =>
  rows.map(
    ({ severity, rule, summary, raisedAt, acknowledgedBy }) =>
      `${severity} alert ${quote(rule)} since ${raisedAt}: ${quote(summary)}${acknowledgedBy ? `, acknowledged by ${quote(acknowledgedBy)}` : ''}`,
  )

export const labels = z.array(z.object({ key: untrusted, value: untrusted }))
export const labelsOf = (data: readonly { readonly key: string; readonly value: string }[]): z.infer<typeof labels> =>
  data.slice(0, 20).map(({ key, value }) => ({ key: mark(key, idLength), value: mark(value, idLength) }))

export const named = (name: string | null | undefined): Untrusted | null =>
  name === null || name === undefined ? null : markId(name)
