/** A test message to a receiver, at once and outside its position in the log: whether its address, secret and network are right. */
import { randomUUID } from 'node:crypto'
import { DomainError } from '../../domain/errors.ts'
import type { Millis } from '../../domain/values.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import { alertsRequest } from './alertmanager.ts'
import { type OutgoingRequest, type PostResult, post, type Send } from './send.ts'
import { eventBody, webhookRequest } from './webhook.ts'

interface TestDeps {
  readonly send: Send
  readonly publicUrl: string
  readonly clock: () => Millis
}

export type SendTest = (sink: Sink) => Promise<PostResult>

/** Milliseconds after which an Alertmanager drops the test alert. */
const alertFor = 60_000

export function createTest({ send, publicUrl, clock }: TestDeps): SendTest {
  return async (sink) => post(send, messageTo(sink, publicUrl, clock()))
}

function messageTo(sink: Sink, publicUrl: string, now: Millis): OutgoingRequest {
  const { kind, name } = sink
  const time = new Date(now).toISOString()
  if (kind === 'WEBHOOK') {
    const id = `test-${randomUUID()}`
    const body = eventBody({ id, source: publicUrl, type: 'rollcall.test', at: now, data: { webhook: name } })
    return webhookRequest(sink, { id, body }, now)
  }
  if (kind === 'ALERTMANAGER') {
    const alert = {
      labels: { alertname: 'RollcallTest', severity: 'info' },
      annotations: { summary: `Rollcall tests its connection to ${name}.` },
      startsAt: time,
      endsAt: new Date(now + alertFor).toISOString(),
      generatorURL: publicUrl,
    }
    return alertsRequest(sink, [alert])
  }
  const message = 'only webhooks and Alertmanagers take test messages'
  throw new DomainError('CONFLICT', message, { problems: [{ field: 'id', message }] })
}
