/** A test message to a receiver, at once and outside its position in the log: whether its address, secret and network are right. */
import { randomUUID } from 'node:crypto'
import { DomainError } from '../domain/errors.ts'
import type { Millis } from '../domain/values.ts'
import type { Sink } from '../store/sinks/sinks.ts'
import type { Outgoing, Send } from './send.ts'
import { signed } from './webhook.ts'

export interface TestAnswer {
  /** Null: no answer. */
  readonly status: number | null
  /** Null: the receiver accepted the message. */
  readonly error: string | null
}

interface TestDeps {
  readonly send: Send
  readonly publicUrl: string
  readonly clock: () => Millis
}

export type SendTest = (sink: Sink) => Promise<TestAnswer>

/** Milliseconds after which an Alertmanager drops the test alert. */
const alertFor = 60_000

export function createTest({ send, publicUrl, clock }: TestDeps): SendTest {
  return async (sink) => {
    const request = messageTo(sink, publicUrl, clock())
    try {
      const { status } = await send(request)
      return { status, error: status < 200 || status >= 300 ? `answered ${status}` : null }
    } catch (cause) {
      return { status: null, error: cause instanceof Error ? cause.message : 'could not be reached' }
    }
  }
}

function messageTo({ kind, name, url, secret }: Sink, publicUrl: string, now: Millis): Outgoing {
  const time = new Date(now).toISOString()
  if (kind === 'WEBHOOK') {
    const id = `test-${randomUUID()}`
    const about = { specversion: '1.0', id, source: publicUrl, type: 'rollcall.test', time }
    const body = JSON.stringify({ ...about, datacontenttype: 'application/json', data: { webhook: name } })
    const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8', ...signed(secret, id, body, now) }
    return { method: 'POST', url, headers, body }
  }
  if (kind === 'ALERTMANAGER') {
    const alert = {
      labels: { alertname: 'RollcallTest', severity: 'info' },
      annotations: { summary: `Rollcall tests its connection to ${name}.` },
      startsAt: time,
      endsAt: new Date(now + alertFor).toISOString(),
      generatorURL: publicUrl,
    }
    return {
      method: 'POST',
      url: `${url.replace(/\/+$/, '')}/api/v2/alerts`,
      headers: { 'content-type': 'application/json', ...(secret !== null && { authorization: secret }) },
      body: JSON.stringify([alert]),
    }
  }
  const message = 'only webhooks and Alertmanagers take test messages'
  throw new DomainError('CONFLICT', message, { problems: [{ field: 'id', message }] })
}
