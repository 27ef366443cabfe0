/** Identifiers of traces and spans. They follow from what the log says, so a restarted server gives a span the same ID. */
import { createHash } from 'node:crypto'
import type { Revision } from '../../domain/values.ts'

const digest = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** A rollout is a trace. `created`: the revision at which it was created, which no other rollout of any epoch has. */
export const traceIdOf = (key: number, created: Revision): string => digest('rollout', key, created).slice(0, 32)

export const rolloutSpanId = (traceId: string): string => digest('span', traceId).slice(0, 16)

/** `began`: the revision of the change that began the attempt. */
export const attemptSpanId = (deploymentKey: number, began: Revision): string =>
  digest('attempt', deploymentKey, began).slice(0, 16)

export const componentSpanId = (attempt: string, name: string): string =>
  digest('component', attempt, name).slice(0, 16)
