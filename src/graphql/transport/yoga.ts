/** HTTP: Yoga with our execution, error masking and event streams. WebSockets use the same enveloped functions. */
import type { IncomingMessage } from 'node:http'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { type DocumentNode, GraphQLError } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Principal } from '../../domain/principal.ts'
import type { Admission } from '../../limits/admission.ts'
import type { LogHead } from '../../store/database.ts'
import { createMaskError, type ErrorLog } from '../execution/errors.ts'
import {
  type ExecuteOptions,
  executeOperation,
  type SubscriptionDeps,
  subscribeOperation,
} from '../execution/operation.ts'
import type { Authentication } from '../guards/authentication.ts'
import { documentCaches, maxBodySize, orRefusal, useLimits } from '../guards/limits.ts'
import { type FindDocument, usePersistedDocuments } from '../guards/persisted-documents.ts'
import { schema } from '../schema.ts'
import type { DocumentFastPath } from './document-fast-path.ts'
import type { EventStreams } from './event-stream.ts'
import { defaultQuery } from './playground.ts'

export interface YogaOptions {
  readonly log: ErrorLog
  readonly graphiql: boolean
  readonly introspection: boolean
  readonly admission: Admission
  /** Allowed origins of other sites. `*`: all. */
  readonly origins: readonly string[]
  readonly eventStreams: EventStreams
  readonly authentication: Authentication
  /** Null: any document is executed. */
  readonly findDocument: FindDocument | null
  /** Called with responses that stay valid until the log head moves. */
  readonly tag: (request: IncomingMessage, head: LogHead, document: DocumentNode) => void
  /** The result of the fast path, if it has errors: Yoga formats them. */
  readonly resultFor: DocumentFastPath['resultFor']
}

export type Yoga = ReturnType<typeof createGraphqlYoga>

export function createGraphqlYoga(deps: SubscriptionDeps, options: YogaOptions) {
  const { log, graphiql, introspection, origins, eventStreams, authentication, admission, findDocument } = options
  const maskError = createMaskError(log)
  return createYoga({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: graphiql && { title: 'Rollcall', defaultQuery },
    // Yoga's own page loads scripts from a CDN: it needs the internet and runs third-party code.
    renderGraphiQL,
    landingPage: false,
    parserAndValidationCache: documentCaches(),
    // Without a list, Yoga refuses the parameter as unknown.
    extraParamNames: findDocument ? ['documentId'] : [],
    multipart: false,
    batching: false,
    maxRequestBodySize: maxBodySize,
    cors: origins.length > 0 && { origin: origins.includes('*') ? '*' : [...origins], credentials: false },
    maskedErrors: { maskError },
    // Unexpected errors are logged where they are masked, with their ID.
    logging: false,
    plugins: [
      useSafeContentTypes(),
      useSoundAddresses(),
      usePagePolicy(),
      usePrivateAnswers(),
      authentication.plugin,
      ...(findDocument ? [usePersistedDocuments(findDocument)] : []),
      useLimits(deps.limits, introspection),
      useExecution(deps, eventStreams, authentication, admission, options),
      eventStreams.plugin,
    ],
  })
}

function useExecution(
  deps: SubscriptionDeps,
  eventStreams: EventStreams,
  { principalOf }: Authentication,
  admission: Admission,
  { tag, resultFor }: Pick<YogaOptions, 'tag' | 'resultFor'>,
): Plugin {
  return {
    onExecute({ args, setExecuteFn }) {
      const principal = principalOf(args.contextValue)
      const request = requestOf(args.contextValue)
      const executed = request && resultFor(request)
      setExecuteFn(
        (own) =>
          executed ??
          executeOperation(
            deps,
            own,
            principal,
            optionsFor(admission, principal, request, (head) => request && tag(request, head, args.document)),
          ),
      )
    },
    // For event streams only: WebSockets subscribe themselves.
    onSubscribe({ args, setSubscribeFn }) {
      const request = args.contextValue.request as Request
      const lastEventId = request.headers.get('last-event-id')
      const begins = (at: number): void => eventStreams.begins(request, at)
      const principal = principalOf(args.contextValue)
      const caller = admission.callerOf(principal, requestOf(args.contextValue))
      setSubscribeFn(async (own) => {
        const ended = orRefusal(() => admission.openStream(caller))
        return subscribeOperation(deps, own, principal, { lastEventId, begins, ended, whose: caller })
      })
    },
  }
}

/** The execution options of a request, for Yoga and for the fast path. */
export function optionsFor(
  admission: Admission,
  principal: Principal,
  request: IncomingMessage | undefined,
  answered: (head: LogHead) => void,
): ExecuteOptions {
  const caller = admission.callerOf(principal, request)
  const address = request && admission.addresses.of(request)
  return { address, answered, whose: caller, enter: (signal) => admission.enter(caller, signal) }
}

/** The HTTP request, or the upgrade request of a WebSocket. */
function requestOf(context: object): IncomingMessage | undefined {
  return (context as { readonly req?: IncomingMessage }).req
}

const contentTypes = ['application/json', 'application/graphql+json', 'application/graphql']

/** Prevents CSRF: other sites may send forms and plain text without a CORS preflight, so these types are refused. */
function useSafeContentTypes(): Plugin {
  return {
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
      if (contentTypes.includes(type.trim().toLowerCase())) return
      endResponse(new fetchAPI.Response(null, { status: 415, headers: { Accept: contentTypes.join(', ') } }))
    },
  }
}

/** Yoga parses JSON in URLs without handling syntax errors. */
function useSoundAddresses(): Plugin {
  return {
    onRequestParse({ request, url }) {
      if (request.method !== 'GET') return
      for (const name of ['variables', 'extensions']) {
        const text = url.searchParams.get(name)
        if (!text || isJson(text)) continue
        const extensions = { code: 'BAD_REQUEST', http: { spec: true, status: 400 } }
        throw new GraphQLError(`${name} must be URL-encoded JSON`, { extensions })
      }
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Responses to GET depend on the caller, so shared caches must not store them. The client's own may revalidate. */
function usePrivateAnswers(): Plugin {
  return {
    onResponse({ request, response }) {
      if (request.method !== 'GET') return
      const directives = response.headers.get('cache-control') ?? 'no-cache'
      response.headers.set('cache-control', `private, ${directives}`)
      response.headers.append('vary', 'Accept, Authorization, Cookie, X-API-Key')
    },
  }
}

/** GraphiQL is one page with inline script and style; its editor creates workers. It connects to this server only. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'worker-src blob:',
  'img-src data:',
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function usePagePolicy(): Plugin {
  return {
    onResponse({ response }) {
      if (response.headers.get('content-type')?.startsWith('text/html'))
        response.headers.set('content-security-policy', pagePolicy)
    },
  }
}
