/** What an operation may cost: the same on every transport, because all of them parse, validate and execute here. */
import { type ParseOptions, parse, type Source } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** GraphiQL's introspection has about 500. */
export const maxTokens = 10_000

/** Rows of all connections of one answer together: a hundred in each of a hundred in each of a hundred are a million. */
export const maxRows = 50_000

/** Bytes of an HTTP request's body: a full declareDeployments fits. */
export const maxBodySize = 16 * 1024 * 1024

/** Bytes of one WebSocket message. */
export const maxMessageSize = 64 * 1024

/** Operations under way on one WebSocket: each holds a subscription, and so memory. */
export const maxOperationsPerSocket = 1_000

export function useLimits(): Plugin {
  const parseWithin = (source: string | Source, options?: ParseOptions) => parse(source, { ...options, maxTokens })
  return {
    onParse({ setParseFn }) {
      setParseFn(parseWithin)
    },
  }
}
