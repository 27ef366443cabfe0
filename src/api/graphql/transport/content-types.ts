/** Refusals of bodies by Content-Type and of responses by Accept, with what to send instead. */
import type { Plugin } from 'graphql-yoga'
import { DomainError, type ErrorCode, errorCodes } from '../../../domain/errors.ts'
import { formatError } from '../execution/errors.ts'
import { asRefusal } from '../guards/limits.ts'

const accepted = ['application/json', 'application/graphql+json', 'application/graphql']

export function useContentTypes(): Plugin {
  return {
    /** Prevents CSRF: other sites may send forms and plain text without a CORS preflight, so these types are refused. */
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const [first = ''] = (request.headers.get('content-type') ?? '').split(';')
      const type = first.trim().toLowerCase()
      if (accepted.includes(type)) return
      const given = type === '' ? 'without a Content-Type' : `of ${type.slice(0, 100)}`
      const advice = 'send Content-Type: application/json and {"query": "…"}, or application/graphql and the document'
      const message = `a body ${given} is not supported: ${advice}`
      endResponse(refusal(fetchAPI, 'UNSUPPORTED_MEDIA_TYPE', message, accepted.join(', ')))
    },
    /** Yoga's refusal has no body. */
    onResponse({ response, fetchAPI, setResponse }) {
      if (response.status !== errorCodes.NOT_ACCEPTABLE.status || response.body !== null) return
      const message =
        'Accept allows no type of this response: send Accept: application/json for a query or a mutation, and text/event-stream or multipart/mixed;subscriptionSpec=1.0 for a subscription'
      setResponse(refusal(fetchAPI, 'NOT_ACCEPTABLE', message, response.headers.get('accept') ?? ''))
    },
  }
}

type FetchApi = Pick<typeof globalThis, 'Response'>

function refusal({ Response }: FetchApi, code: ErrorCode, message: string, accept: string): Response {
  const body = JSON.stringify({ errors: [formatError(asRefusal(new DomainError(code, message)))] })
  const headers = { 'content-type': 'application/json; charset=utf-8', accept }
  return new Response(body, { status: errorCodes[code].status, headers })
}
