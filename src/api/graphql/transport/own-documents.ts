/** Executes documents of this program for callers of other routes: with the rights, the limits and the audit log of /graphql. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DocumentNode, type ExecutionResult, type FormattedExecutionResult, parse } from 'graphql'
import type { Principal } from '../../../domain/principal.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import { formatResult, type MaskError, maskResult } from '../execution/errors.ts'
import { textOf } from '../execution/event-result.ts'
import { isResultStream, type SubscriptionDeps, subscribeOperation } from '../execution/subscription.ts'
import { schema } from '../schema.ts'
import { createRequestState } from './request-state.ts'
import { executeRequest } from './yoga.ts'

type Variables = Readonly<Record<string, unknown>>

/** Whose request it is. Queries and subscriptions end with the response. */
export interface DocumentCaller {
  readonly principal: Principal
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface OwnDocuments {
  ask(caller: DocumentCaller, document: string, variables: Variables): Promise<FormattedExecutionResult>
  /** Calls `next` with each result of a subscription until it ends or the signal is aborted. It counts as a stream of the caller. */
  follow(
    caller: DocumentCaller,
    document: string,
    variables: Variables,
    next: (result: FormattedExecutionResult) => void,
    signal: AbortSignal,
  ): Promise<void>
}

export function createOwnDocuments(deps: SubscriptionDeps, admission: Admission, maskError: MaskError): OwnDocuments {
  /** They are few, and each is a constant. */
  const parsed = new Map<string, DocumentNode>()
  const documentOf = (text: string): DocumentNode => {
    const known = parsed.get(text) ?? parse(text)
    parsed.set(text, known)
    return known
  }
  const format = (result: ExecutionResult): FormattedExecutionResult => formatResult(maskResult(result, maskError))

  return {
    async ask({ principal, request, response }, document, variables) {
      const state = createRequestState({ request, response, identify: async () => principal })
      await state.authenticate()
      const args = { schema, document: documentOf(document), variableValues: variables }
      return format(await executeRequest(deps, admission, args, state))
    },
    async follow({ principal, request }, document, variables, next, signal) {
      const whose = admission.callerOf(principal, request)
      const fail = (error: unknown): void => next(format({ errors: [maskError(error)] }))
      let ended: () => void
      try {
        ended = admission.openStream(whose)
      } catch (error) {
        return fail(error)
      }
      const args = { schema, document: documentOf(document), variableValues: variables }
      const results = await subscribeOperation(deps, args, principal, { ended, whose, request })
      if (!isResultStream(results)) return next(format(results))
      if (signal.aborted) return results.close()
      const { promise, resolve } = Promise.withResolvers<void>()
      const leave = results.listen({
        take(result) {
          next(JSON.parse(textOf(result, format)))
          return undefined
        },
        end: resolve,
        fail(error) {
          fail(error)
          resolve()
        },
      })
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      leave()
    },
  }
}
