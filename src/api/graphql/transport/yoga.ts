/** HTTP: Yoga with our execution, error masking and event streams. WebSockets use the same enveloped functions. */
import { type ExecutionArgs, type ExecutionResult, GraphQLError } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Admission } from '../../../platform/limits/admission.ts'
import { readTraceparent } from '../../../platform/traceparent.ts'
import { createMaskError, type ErrorLog } from '../execution/errors.ts'
import type { PartsFormat } from '../execution/executor.ts'
import { executeOperation } from '../execution/operation.ts'
import { isResultStream, type SubscriptionDeps, subscribeOperation } from '../execution/subscription.ts'
import { useAuthentication } from '../guards/authentication.ts'
import { useAutomaticDocuments } from '../guards/automatic-documents.ts'
import { documentCaches, maxBodySize, orRefusal, useLimits } from '../guards/limits.ts'
import { useOperationName } from '../guards/operation-name.ts'
import { type FindDocument, usePersistedDocuments } from '../guards/persisted-documents.ts'
import { schema } from '../schema.ts'
import { useContentTypes } from './content-types.ts'
import { asksForCost, costHeader, withCost } from './cost-header.ts'
import { crossOrigin } from './cross-origin.ts'
import type { EventStreams } from './event-stream.ts'
import { partsFormatOf, useParts } from './parts.ts'
import { principalOf, type RequestState, type StateContext, stateOf } from './request-state.ts'
import { revisionOf, useRevisions } from './revision-header.ts'

interface YogaOptions {
  readonly log: ErrorLog
  readonly introspection: boolean
  readonly admission: Admission
  /** Allowed origins of other sites. `*`: all. */
  readonly origins: readonly string[]
  readonly eventStreams: EventStreams
  /** Null: any document is executed. */
  readonly findDocument: FindDocument | null
}

export type Yoga = ReturnType<typeof createGraphqlYoga>

export function createGraphqlYoga(deps: SubscriptionDeps, options: YogaOptions) {
  const { log, introspection, origins, eventStreams, admission, findDocument } = options
  return createYoga<StateContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // playground-page.ts has it.
    graphiql: false,
    landingPage: false,
    parserAndValidationCache: documentCaches(),
    // Without a list, Yoga refuses the parameter as unknown.
    extraParamNames: findDocument ? ['documentId'] : [],
    multipart: false,
    batching: false,
    maxRequestBodySize: maxBodySize,
    cors: crossOrigin(origins),
    maskedErrors: { maskError: createMaskError(log) },
    // Unexpected errors are logged where they are masked, with their ID.
    logging: false,
    plugins: [
      useContentTypes(),
      useSoundAddresses(),
      usePrivateAnswers(),
      useRevisions(),
      useAuthentication((context) => stateOf(context).authenticate()),
      findDocument ? usePersistedDocuments(findDocument) : useAutomaticDocuments(),
      useLimits(deps.limits, introspection),
      useOperationName(),
      useExecution(deps, admission),
      eventStreams.plugin,
      useParts(createMaskError(log)),
    ],
  })
}

function useExecution(deps: SubscriptionDeps, admission: Admission): Plugin {
  return {
    onExecute({ args, setExecuteFn }) {
      const state = stateOf(args.contextValue)
      // A WebSocket operation has no request of its own.
      const request = args.contextValue.request as Request | undefined
      const isCostWanted = asksForCost(request?.headers.get(costHeader))
      const parts = partsFormatOf(request?.headers.get('accept'))?.format ?? null
      setExecuteFn(async (own) => {
        const result = await (state.executed ?? executeRequest(deps, admission, own, state, parts))
        return isCostWanted ? withCost(result, own, deps.limits) : result
      })
    },
    // For event streams only: WebSockets subscribe themselves.
    onSubscribe({ args, setSubscribeFn }) {
      const state = stateOf(args.contextValue)
      const request = args.contextValue.request as Request
      const lastEventId = request.headers.get('last-event-id')
      const principal = principalOf(state)
      const whose = admission.callerOf(principal, state.request ?? undefined)
      setSubscribeFn(async (own) => {
        const ended = orRefusal(() => admission.openStream(whose))
        const options = { lastEventId, ended, whose, request: state.request }
        const result = await subscribeOperation(deps, own, principal, options)
        if (!isResultStream(result)) return result
        state.events = result
        return sentByEventStream
      })
    },
  }
}

/** Yoga requires an async iterable. Nothing iterates it: event-stream.ts sends the results. */
const sentByEventStream: AsyncIterableIterator<ExecutionResult> = {
  [Symbol.asyncIterator]: () => sentByEventStream,
  next: async () => ({ done: true, value: undefined }),
  return: async () => ({ done: true, value: undefined }),
}

/** Executes the operation of a request, for Yoga and for the fast path. `parts`: how its client takes what comes later. */
export function executeRequest(
  deps: SubscriptionDeps,
  admission: Admission,
  args: ExecutionArgs,
  state: RequestState,
  parts: PartsFormat | null = null,
): Promise<ExecutionResult> {
  return deps.traced(args, state.request, () => execute(deps, admission, args, state, parts))
}

async function execute(
  deps: SubscriptionDeps,
  admission: Admission,
  args: ExecutionArgs,
  state: RequestState,
  parts: PartsFormat | null,
): Promise<ExecutionResult> {
  const principal = principalOf(state)
  const whose = admission.callerOf(principal, state.request ?? undefined)
  const { result, head, revision, ...later } = await executeOperation(deps, args, principal, {
    traceparent: readTraceparent(state.request?.headers.traceparent),
    address: state.request ? admission.addresses.of(state.request) : undefined,
    whose,
    atLeast: revisionOf(state),
    enter: (signal) => admission.enter(whose, signal),
    onGone: state.onGone,
    parts,
  })
  state.revision = revision
  state.parts = later.parts
  if (head) state.dependsOn = { document: args.document, head }
  return result
}

const inJson = ['variables', 'extensions']
const parameters = [...inJson, 'query', 'operationName', 'documentId']

/** Yoga parses JSON in URLs without handling syntax errors, and takes one of several values. */
function useSoundAddresses(): Plugin {
  return {
    onRequestParse({ request, url }) {
      if (request.method !== 'GET') return
      const extensions = { code: 'BAD_REQUEST', http: { spec: true, status: 400 } }
      for (const name of parameters) {
        const [text = '', ...more] = url.searchParams.getAll(name)
        if (more.length > 0) throw new GraphQLError(`${name} must be given once`, { extensions })
        if (text !== '' && inJson.includes(name) && !isJson(text))
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
