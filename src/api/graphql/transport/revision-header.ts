/**
 * `Rollcall-Revision`, the revision of an answer. A client that sends it back gets an answer that includes that revision, from any server,
 * and allows the server to read a standby without asking the primary.
 */
import type { Plugin } from 'graphql-yoga'
import type { Revision } from '../../../domain/values.ts'
import { type RequestState, type StateContext, stateOf } from './request-state.ts'

export const revisionHeader = 'rollcall-revision'

/** Null: the client sent none, or something else. It then gets the present. A socket has one request and many operations, so it has none. */
export function revisionOf({ request, response }: Pick<RequestState, 'request' | 'response'>): Revision | null {
  const sent = response && request?.headers[revisionHeader]
  return typeof sent === 'string' && /^\d{1,16}$/.test(sent) && Number.isSafeInteger(Number(sent)) ? Number(sent) : null
}

export function useRevisions(): Plugin<object, StateContext> {
  return {
    onResponse({ response, serverContext }) {
      const { revision } = stateOf(serverContext)
      if (revision !== null) response.headers.set(revisionHeader, String(revision))
    },
  }
}
