/**
 * A dialect: how one kind of client writes and reads, as data. rest/ serves all that index.ts lists. Only the folder of a dialect knows its words.
 *
 *   body ── read ──▶ fact ── the writer ──▶ outcome ── answer ──▶ the response
 */
import type { Fact, Outcomes } from '../../domain/orchestration/orchestrated-facts.ts'
import type { Millis } from '../../domain/values.ts'
import type { BodyRule } from '../../platform/body/rule.ts'
import type { Contract } from './contract.ts'
import type { DeviceMethod } from './devices.ts'
import type { Readers } from './readers.ts'
import type { Route } from './router.ts'

export interface Dialect {
  readonly name: string
  readonly routes: readonly Route<Methods>[]
  /** Describes each operation of its methods. No server calls it: the OpenAPI document is made before. */
  readonly contract: () => Promise<Contract>
  /** The values of `Report.dialect`. Each is a series of the metrics from the start. */
  readonly generations?: readonly string[]
  /** Routes that hand-written clients use, as `POST /device/{deviceId}`. A path that does not exist is compared with them. */
  readonly suggested?: readonly string[]
}

export type Methods = Readonly<Record<string, Method>>
export type Method = Named<Recording | Showing | Managing | DeviceMethod>
/** `operation`: what it is in the contract of the dialect. */
export type Named<Does> = Does & { readonly operation: string }

/** For orchestrators: records what the request says. */
export interface Recording {
  readonly does: 'record'
  /** Null: the request has no body. */
  readonly body: BodyRule | null
  /** Throws SEMANTIC_ERROR that names every invalid field. */
  read(body: unknown, readers: Readers): Reading | Promise<Reading>
}

/** A fact, and the response to what became of it. */
export interface Reading<F extends Fact = Fact> {
  readonly fact: F
  answer(outcome: Outcomes[F['of']], readers: Readers): Answer | Promise<Answer>
}

export interface Answer {
  readonly status: number
  readonly json?: object
}

/** Answers from one snapshot, which has what the caller may see. */
export interface Showing {
  readonly does: 'show'
  readonly access: 'viewer' | 'viewer of all'
  /** Throws before anything is read if the query of the URL is invalid. */
  show(query: string): (readers: Readers) => Promise<Shown>
}

/** `parts`: JSON text, for an answer of any size. */
export type Shown = { readonly json: unknown } | { readonly parts: AsyncGenerator<string> }

/** For operators: configures who is notified. */
export interface Managing {
  readonly does: 'manage'
  /** Null: the request has no body. */
  readonly body: BodyRule | null
  manage(body: unknown, context: ManagingContext): Promise<Answer>
}

export interface ManagingContext {
  readonly readers: Readers
  readonly callbacks: Callbacks
  /** The reason that a URL must not be called. Null: it may be called. */
  readonly refuseUrl: (url: string) => string | null
  /** Keeps an inventory up to date with the instance, until a call with `isEnding`. */
  readonly announce: (instanceId: string, place: InventoryPlace, isEnding: boolean) => Promise<unknown>
}

/** The nodes of an inventory that an instance belongs to. */
export interface InventoryPlace {
  readonly cloudOwner: string
  readonly cloudRegion: string
  readonly tenantId: string
  readonly genericVnfId: string | null
  readonly vfModuleId: string | null
  readonly callbackUrl: string | null
}

/** Subscriptions to an instance by HTTP requests to a URL. */
export interface Callbacks {
  of(instanceKey: number): Promise<readonly Callback[]>
  create(instanceKey: number, name: string, settings: CallbackSettings): Promise<Callback>
  /** Without a secret, it keeps the one that it has. Null: it does not exist. */
  change(key: number, settings: CallbackSettings): Promise<Callback | null>
  delete(key: number): Promise<unknown>
}

export interface CallbackSettings {
  readonly url: string
  readonly secret?: string | null
  /** Seconds. */
  readonly minNotifyInterval: number
  readonly metadata: unknown
}

export interface Callback extends Omit<CallbackSettings, 'secret'> {
  readonly key: number
  readonly name: string
  readonly createdAt: Millis
  readonly attemptedAt: Millis | null
  readonly succeededAt: Millis | null
  readonly lastStatus: number | null
}

export function recording(operation: string, body: BodyRule | null, read: Recording['read']) {
  return { operation, does: 'record', body, read } as const
}

export function reading<F extends Fact>(fact: F, answer: Reading<F>['answer']): Reading {
  return { fact, answer }
}
