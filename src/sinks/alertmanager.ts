/**
 * Alertmanager's API v2. It keeps alerts in memory and resolves an alert that it does not hear of for `resolve_timeout` (5 minutes by
 * default), so each firing alert is sent again every minute. A resolved alert is sent with its end for a while, because an Alertmanager that
 * is killed before it notifies its receivers has forgotten it.
 */
import { type Alert, summarize } from '../domain/alerts/alert.ts'
import type { Rollout } from '../domain/rollout.ts'
import type { Millis } from '../domain/values.ts'
import { alertsSince, hasAlertsAfter } from '../store/alerts/alerts.ts'
import type { Database } from '../store/database.ts'
import { rolloutsByKey } from '../store/read/rollouts/rollouts.ts'
import type { Send } from './send.ts'
import { type Deliver, isRepeatDue, type Round, repeatEvery } from './sinks.ts'

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
    const quiet: Round = { cursor: head, isSent: false, isFurther: false, status: null, error: null, nextAt: null }
    if (!isRepeatDue(sink, now) && sink.failures === 0 && !(await hasAlertsAfter(session, sink.cursor))) return quiet
    const alerts = newestOfEach(await alertsSince(session, sink.cursor, now - resolvedFor))
    const keys = alerts.map(({ rolloutKey }) => rolloutKey).filter((key) => key !== 0)
    const rollouts = keys.length === 0 ? new Map<number, Rollout>() : await rolloutsByKey(session, keys, null)
    const posted = alerts.map((alert) => toPosted(alert, rollouts.get(alert.rolloutKey), publicUrl))
    let status: number | null = null
    for (let first = 0; first < posted.length; first += mostAlerts) {
      const sent = { ...quiet, cursor: sink.cursor, isSent: first > 0, isFurther: first > 0, status }
      if (isOver()) return sent
      try {
        const answer = await send({
          method: 'POST',
          url: `${sink.url.replace(/\/+$/, '')}/api/v2/alerts`,
          headers: {
            'content-type': 'application/json',
            ...(sink.secret !== null && { authorization: sink.secret }),
          },
          body: JSON.stringify(posted.slice(first, first + mostAlerts)),
        })
        status = answer.status
        if (status < 200 || status >= 300) return { ...sent, isSent: true, status, error: `answered ${status}` }
      } catch (cause) {
        const error = cause instanceof Error ? cause.message : 'could not be reached'
        return { ...sent, isSent: true, error }
      }
    }
    const isSent = posted.length > 0
    return { ...quiet, isSent, isFurther: isSent, status, settings: { repeatAt: now + repeatEvery } }
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
      ...(description !== null && { description }),
      ...(runbookUrl !== null && { runbook_url: runbookUrl }),
      ...(acknowledgedBy !== null && { acknowledged: `${acknowledgedBy}: ${comment ?? ''}` }),
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
