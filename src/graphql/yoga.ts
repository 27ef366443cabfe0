/** HTTP: Yoga with our execution, our masking and our event streams. WebSockets use the same enveloped functions. */
import type { IncomingMessage } from 'node:http'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { type DocumentNode, GraphQLError } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Identity } from '../domain/identity.ts'
import type { Gate } from '../limits/gate.ts'
import type { LogHead } from '../store/database.ts'
import type { Authentication } from './authentication.ts'
import { createMaskError, type ErrorLog } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import type { KnownDocuments } from './known-documents.ts'
import { documentCaches, maxBodySize, orRefusal, useLimits } from './limits.ts'
import { type ExecuteOptions, executeOperation, type SubscriptionDeps, subscribeOperation } from './operation.ts'
import { type FindDocument, usePersistedDocuments } from './persisted-documents.ts'
import { defaultQuery } from './playground.ts'
import { schema } from './schema.ts'

export interface YogaOptions {
  readonly log: ErrorLog
  readonly graphiql: boolean
  readonly introspection: boolean
  readonly gate: Gate
  /** Origins of other sites whose pages may ask; `*`: all. */
  readonly origins: readonly string[]
  readonly eventStreams: EventStreams
  readonly authentication: Authentication
  /** Null: whatever is asked is executed. */
  readonly findDocument: FindDocument | null
  /** Told which answers stay true while the head stays. */
  readonly note: (request: IncomingMessage, head: LogHead, document: DocumentNode) => void
  /** What was executed before Yoga was asked, because its answer has errors. */
  readonly resultFor: KnownDocuments['resultFor']
}

export type Yoga = ReturnType<typeof createGraphqlYoga>

export function createGraphqlYoga(deps: SubscriptionDeps, options: YogaOptions) {
  const { log, graphiql, introspection, origins, eventStreams, authentication, gate, findDocument } = options
  const maskError = createMaskError(log)
  return createYoga({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: graphiql && { title: 'Rollcall', defaultQuery },
    // Yoga's own page loads its scripts from elsewhere: nothing to see without the internet, and somebody else's code with it.
    renderGraphiQL,
    landingPage: false,
    parserAndValidationCache: documentCaches(),
    // Those that are not asked for by it are told that it is none of a request's.
    extraParamNames: findDocument ? ['documentId'] : [],
    multipart: false,
    batching: false,
    maxRequestBodySize: maxBodySize,
    cors: origins.length > 0 && { origin: origins.includes('*') ? '*' : [...origins], credentials: false },
    maskedErrors: { maskError },
    // What is unexpected is logged where it is masked, with its id.
    logging: false,
    plugins: [
      useSafeContentTypes(),
      useSoundAddresses(),
      usePagePolicy(),
      authentication.plugin,
      ...(findDocument ? [usePersistedDocuments(findDocument)] : []),
      useLimits(deps.limits, introspection),
      useExecution(deps, eventStreams, authentication, gate, options),
      eventStreams.plugin,
    ],
  })
}

function useExecution(
  deps: SubscriptionDeps,
  eventStreams: EventStreams,
  { identityOf }: Authentication,
  gate: Gate,
  { note, resultFor }: Pick<YogaOptions, 'note' | 'resultFor'>,
): Plugin {
  return {
    onExecute({ args, setExecuteFn }) {
      const identity = identityOf(args.contextValue)
      const request = requestOf(args.contextValue)
      const executed = request && resultFor(request)
      setExecuteFn(
        (own) =>
          executed ??
          executeOperation(
            deps,
            own,
            identity,
            optionsFor(gate, identity, request, (head) => request && note(request, head, args.document)),
          ),
      )
    },
    // Of event streams: WebSockets subscribe for themselves.
    onSubscribe({ args, setSubscribeFn }) {
      const request = args.contextValue.request as Request
      const lastEventId = request.headers.get('last-event-id')
      const begins = (at: number): void => eventStreams.begins(request, at)
      const identity = identityOf(args.contextValue)
      const principal = gate.principalOf(identity, requestOf(args.contextValue))
      setSubscribeFn(async (own) => {
        const ended = orRefusal(() => gate.openStream(principal))
        return subscribeOperation(deps, own, identity, { lastEventId, begins, ended })
      })
    },
  }
}

/** The same for whoever executes. */
export function optionsFor(
  gate: Gate,
  identity: Identity,
  request: IncomingMessage | undefined,
  answered: (head: LogHead) => void,
): ExecuteOptions {
  const principal = gate.principalOf(identity, request)
  const address = request && gate.addresses.of(request)
  return { address, answered, enter: (signal) => gate.enter(principal, signal) }
}

/** Of HTTP, and the one that a WebSocket began with. */
function requestOf(context: object): IncomingMessage | undefined {
  return (context as { readonly req?: IncomingMessage }).req
}

const contentTypes = ['application/json', 'application/graphql+json', 'application/graphql']

/** A page of another site may send forms and plain text without asking first: a mutation must not hide in them. */
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

/** Yoga parses what stands in an address without expecting that it may be wrong. */
function useSoundAddresses(): Plugin {
  return {
    onRequestParse({ request, url }) {
      if (request.method !== 'GET') return
      for (const name of ['variables', 'extensions']) {
        const text = url.searchParams.get(name)
        if (!text || isJson(text)) continue
        const extensions = { code: 'BAD_REQUEST', http: { spec: true, status: 400 } }
        throw new GraphQLError(`${name} must be JSON, encoded for an address`, { extensions })
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

/** GraphiQL is one page with its script and its style in it; its editor makes itself workers. It talks to nobody but us. */
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
