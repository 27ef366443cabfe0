/** What an operation may cost before it runs: the same on every transport, because all of them parse and validate here. */
import { type ParseOptions, parse, type Source, type ValidationRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** GraphiQL's introspection has about 500. */
export const maxTokens = 10_000

/** Rules beside the specification's own. */
export const validationRules: readonly ValidationRule[] = []

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
    onValidate({ addValidationRule }) {
      for (const rule of validationRules) addValidationRule(rule)
    },
  }
}
