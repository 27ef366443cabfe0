/** Refuses a request that does not say which operation of its document to execute. Yoga and graphql-ws would not say what is wrong, and differ. */
import { type DocumentNode, GraphQLError, getOperationAST, Kind } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** Of a request, so it may be any value. */
type OperationName = unknown

export function requireOperation(document: DocumentNode, operationName: OperationName): void {
  if (getOperationAST(document, operationName as string | null | undefined)) return
  const extensions = { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } }
  throw new GraphQLError(problemOf(document, operationName), { extensions })
}

function problemOf({ definitions }: DocumentNode, operationName: OperationName): string {
  const { length } = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  if (length === 0) return 'the document has no operation'
  if (operationName === null || operationName === undefined)
    return `the document has ${length} operations: name one of them in operationName`
  if (typeof operationName !== 'string') return 'operationName must be a string'
  const shown = operationName.length > 60 ? `${operationName.slice(0, 60)}…` : operationName
  return `the document has no operation with the operationName ${JSON.stringify(shown)}`
}

interface Context {
  /** Absent for an operation of a WebSocket. */
  readonly params?: { readonly operationName?: OperationName }
}

export function useOperationName(): Plugin<Context> {
  return {
    onParse() {
      return ({ context: { params }, result }) => {
        if (params && result && !(result instanceof Error)) requireOperation(result, params.operationName)
      }
    },
  }
}
