/**
 * Alertmanager's API v2. It keeps alerts in memory and resolves an alert that is not repeated within `resolve_timeout` (5 minutes by default), so
 * each firing alert is sent every minute. A resolved alert is sent with its end for a while, because an Alertmanager that is killed before it
 * notifies its receivers has forgotten it.
 */
import { type Alert, summarize } from '../../domain/alerts/alert.ts'
import { escapeHidden } from '../../domain/look-alike.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { Millis } from '../../domain/values.ts'
import { alertsSince, hasAlertsAfter } from '../../store/alerts/alerts.ts'
import type { Database } from '../../store/database.ts'
import { rolloutsByKey } from '../../store/read/rollouts/rollouts.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import { isRepeatDue, repeatEvery } from './due.ts'
import { type Deliver, roundAt } from './round.ts'
import { type OutgoingRequest, post, type Send } from './send.ts'

interface AlertmanagerDeps {
  readonly database: Database
  readonly send: Send
  readonly publicUrl: string
  readonly clock: () => Millis
}

/** Milliseconds. */
const resolvedFor = 15 * 60_000
/** Alerts in one request. */
const mostAlerts = 200

export function createAlertmanagerDeliver({ database, send, publicUrl, clock }: AlertmanagerDeps): Deliver {
  const { session } = database
  return async (sink, head, { isOver }) => {
    const now = clock()
    if (!isRepeatDue(sink, now) && sink.failures === 0 && !(await hasAlertsAfter(session, sink.cursor)))
      return roundAt(head)
    const alerts = newestOfEach(await alertsSince(session, sink.cursor, now - resolvedFor))
    const keys = alerts.map(({ rolloutKey }) => rolloutKey).filter((key) => key !== 0)
    const rollouts = keys.length === 0 ? new Map<number, Rollout>() : await rolloutsByKey(session, keys, null)
    const posted = alerts.map((alert) => toPosted(alert, rollouts.get(alert.rolloutKey), publicUrl))
    let status: number | null = null
    for (let first = 0; first < posted.length; first += mostAlerts) {
      const sent = { isSent: first > 0, isAccepted: first > 0, status }
      if (isOver()) return roundAt(sink.cursor, sent)
      const answer = await post(send, alertsRequest(sink, posted.slice(first, first + mostAlerts)))
      status = answer.status ?? status
      if (answer.error !== null) return roundAt(sink.cursor, { ...sent, isSent: true, status, error: answer.error })
    }
    const isSent = posted.length > 0
    return roundAt(head, { isSent, isAccepted: isSent, status, settings: { repeatAt: now + repeatEvery } })
  }
}

export function alertsRequest(
  { url, secret }: Pick<Sink, 'url' | 'secret'>,
  alerts: readonly object[],
): OutgoingRequest {
  // A proxy in front of it may need a query.
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/\/+$/, '')}/api/v2/alerts`
  return {
    method: 'POST',
    url: address.href,
    headers: { 'content-type': 'application/json', ...(secret !== null && { authorization: secret }) },
    body: JSON.stringify(alerts),
  }
}

/** An alert that fires again has the labels of the resolved one before it. */
function newestOfEach(alerts: readonly Alert[]): readonly Alert[] {
  const newest = new Map<string, Alert>()
  for (const alert of alerts.toSorted((a, b) => a.raisedRevision - b.raisedRevision))
    newest.set(JSON.stringify([alert.rule, alert.rolloutKey, alert.severity, alert.labels]), alert)
  return [...newest.values()]
}

function toPosted(alert: Alert, rollout: Rollout | undefined, publicUrl: string): object {
  const { rule, severity, labels, description, runbookUrl, acknowledgedBy, comment, raisedAt, resolvedAt } = alert
  return {
    labels: {
      ...Object.fromEntries(labels.map(({ key, value }) => [key, value])),
      alertname: rule,
      severity: severity.toLowerCase(),
      ...(rollout && { rollout: rollout.name, rollout_id: nodeIdOf(rollout.key) }),
      ...(rollout?.project && { project: rollout.project }),
    },
    annotations: {
      summary: summarize(alert),
      ...(description !== null && { description: escapeHidden(description) }),
      ...(runbookUrl !== null && { runbook_url: runbookUrl }),
      ...(acknowledgedBy !== null && { acknowledged: escapeHidden(`${acknowledgedBy}: ${comment ?? ''}`) }),
    },
    startsAt: new Date(raisedAt).toISOString(),
    ...(resolvedAt !== null && { endsAt: new Date(resolvedAt).toISOString() }),
    generatorURL: publicUrl,
  }
}

/** The ID in the API. Rollouts of different kinds may have the same name. */
function nodeIdOf(key: number): string {
  return Buffer.from(`Rollout:${key}`).toString('base64url')
}
