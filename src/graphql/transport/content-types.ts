/** Prevents CSRF: other sites may send forms and plain text without a CORS preflight, so these types are refused. */
import type { Plugin } from 'graphql-yoga'
import { DomainError, errorCodes } from '../../domain/errors.ts'
import { formatError } from '../execution/errors.ts'
import { asRefusal } from '../guards/limits.ts'

const accepted = ['application/json', 'application/graphql+json', 'application/graphql']

export function useSafeContentTypes(): Plugin {
  return {
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const [first = ''] = (request.headers.get('content-type') ?? '').split(';')
      const type = first.trim().toLowerCase()
      if (accepted.includes(type)) return
      const given = type === '' ? 'without a Content-Type' : `of ${type.slice(0, 100)}`
      const code = 'UNSUPPORTED_MEDIA_TYPE'
      const message = `a body ${given} is not supported: send Content-Type: application/json and {"query": "…"}, or application/graphql and the document`
      const body = JSON.stringify({ errors: [formatError(asRefusal(new DomainError(code, message)))] })
      const headers = { 'content-type': 'application/json; charset=utf-8', accept: accepted.join(', ') }
      endResponse(new fetchAPI.Response(body, { status: errorCodes[code].status, headers }))
    },
  }
}
