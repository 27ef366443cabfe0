/** Takes one message of a device: the same parsers, credentials, limits and writer as over HTTP. */

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { DomainError, errorCodes } from '../../domain/errors.ts'
import type { ReportOutcome } from '../../domain/report.ts'
import type { Millis } from '../../domain/values.ts'
import { spending } from '../../ingest/command.ts'
import { recordConnection } from '../../ingest/commands/connectivity.ts'
import { reportFormat } from '../../ingest/dialects/index.ts'
import { readTime, timeProblem } from '../../platform/body/time.ts'
import type { Log } from '../../platform/log/log.ts'
import { isTransient } from '../../store/connection/failure.ts'
import { type Caller, type RecordDeps, requireIdentity, takeBody } from '../rest/devices/record-report.ts'
import { requireMediaType, tracedBy } from '../rest/exchange.ts'
import { toProblem } from '../rest/problem.ts'
import type { Message } from './intake.ts'
import { toRequest } from './request.ts'
import { readSubject, type Subject } from './topics.ts'

interface TakeDeps extends RecordDeps {
  readonly prefix: string
  readonly log: Log
  readonly nextId: () => string
  readonly isStopped: () => boolean
  /** Whether the broker delivers the messages of a device in their order. */
  readonly isInOrder: boolean
  /** Milliseconds between attempts while the database is unavailable. */
  readonly pause?: number
}

export interface Answer {
  readonly contentType: 'application/json' | 'application/problem+json'
  readonly body: string
  /** Of the problem. 200: there is none. */
  readonly status: number
}

/** The server stops: the message stays with the broker, and the next server gets it. */
class Stopped extends Error {}

/** Bytes of a body whose credential was refused. They are read only to find an error of higher precedence. */
const refusedLimit = 64 << 10

/** Throws Stopped only. */
export async function takeMessage(deps: TakeDeps, subject: Subject, message: Message): Promise<Answer> {
  const id = deps.nextId()
  try {
    const { deviceId, deploymentId } = readSubject(subject)
    const request = toRequest(deps.prefix, message)
    const { payload } = message
    const { limit, media } = reportFormat
    if (payload.length > limit)
      throw new DomainError('TOO_LARGE', `the body is larger than the limit of ${limit} bytes`)
    if (subject.kind === 'report') requireMediaType(request, media)
    const caller = await untilAvailable(deps, () => identify(deps, request, payload, deviceId))
    if ('refusal' in caller && payload.length > refusedLimit) throw caller.refusal
    const route = { deploymentId, reporter: deviceId, requiresVersion: false }
    const take =
      subject.kind === 'report'
        ? () => takeBody(deps, reportFormat, request, caller, payload, route)
        : () => takeConnection(deps, request, caller, payload, deviceId)
    const outcome = await untilAvailable(deps, () =>
      'refusal' in caller ? take() : deps.devices.claim(caller, request, take),
    )
    return { contentType: 'application/json', body: JSON.stringify(reportFormat.acknowledge(outcome)), status: 200 }
  } catch (error) {
    if (error instanceof Stopped) throw error
    if (!(error instanceof DomainError))
      deps.log.error({ requestId: id, error }, 'a message failed with an unexpected error')
    const { status, body } = toProblem(error, id)
    deps.metrics.reportRefused(status)
    return { contentType: 'application/problem+json', body, status }
  }
}

/** Throws SEMANTIC_ERROR. */
async function takeConnection(
  deps: TakeDeps,
  request: IncomingMessage,
  caller: Caller,
  payload: Buffer,
  deviceId: string,
): Promise<ReportOutcome> {
  const to = connections.get(payload.subarray(0, longestConnection).toString().trim().toLowerCase())
  if (to === undefined || payload.length > longestConnection)
    throw new DomainError('SEMANTIC_ERROR', 'The connection is refused: it must be online or offline.', {
      problems: [{ field: '', message: 'must be online or offline' }],
    })
  const { device, proof } = requireIdentity(caller)
  const connectedAt = readConnectedAt(request)
  deps.admission.admitDevice(device ?? deviceId)
  const message = { caller: device ?? deviceId, connectedAt, isInOrder: deps.isInOrder }
  const recorded = spending(recordConnection(deviceId, to, message), proof)
  return deps.writer.submit(tracedBy({ request }, recorded))
}

/** The user property `observedAt`. Throws SEMANTIC_ERROR. */
function readConnectedAt({ headersDistinct: { observedat: given } }: IncomingMessage): Millis | null {
  if (given === undefined) return null
  const time = given.length === 1 ? readTime(given[0]) : null
  if (time !== null) return time
  const message = timeProblem(given.join(', '))
  throw new DomainError('SEMANTIC_ERROR', `The user property observedAt is refused: it ${message}.`, {
    problems: [{ field: 'observedAt', message }],
  })
}

const connections: ReadonlyMap<string, 'ONLINE' | 'OFFLINE'> = new Map([
  ['online', 'ONLINE'],
  ['offline', 'OFFLINE'],
])
/** Bytes. */
const longestConnection = 16

/**
 * The device of the credential. Without one, where DEVICE_AUTH allows that, the topic names the device: the broker's topic rules decide who
 * publishes there. Over HTTP such a caller may name any device; here it reports for itself and the devices behind it.
 */
async function identify(
  { devices }: TakeDeps,
  request: IncomingMessage,
  payload: Buffer,
  deviceId: string,
): Promise<Caller> {
  try {
    const identity = await devices.authenticate(request, async () => payload)
    return identity.device === null ? { ...identity, device: deviceId } : identity
  } catch (refusal) {
    if (!(refusal instanceof DomainError) || refusal.code === 'INVALID_REQUEST' || errorCodes[refusal.code].retryable)
      throw refusal
    return { device: null, refusal }
  }
}

/** The broker delivers a message again only after a new connection, so this waits until an outage of the database is over. */
async function untilAvailable<T>({ isStopped, pause = 500 }: TakeDeps, work: () => Promise<T>): Promise<T> {
  for (;;) {
    if (isStopped()) throw new Stopped('the server stops')
    try {
      return await work()
    } catch (error) {
      const isOutage = error instanceof DomainError ? error.code === 'UNAVAILABLE' : isTransient(error)
      if (!isOutage) throw error
    }
    await sleep(pause * (1 + Math.random()))
  }
}
