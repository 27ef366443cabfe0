/** Refuses a request that does not say which operation of its document to execute. Yoga and graphql-ws would not say what is wrong, and differ. */
import { type DocumentNode, GraphQLError, getOperationAST, Kind } from 'graphql'
import type { Plugin } from 'graphql-yoga'

type OperationName = string | null | undefined

export function requireOperation(document: DocumentNode, operationName: OperationName): void {
  if (getOperationAST(document, operationName)) return
  const extensions = { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } }
  throw new GraphQLError(problemOf(document, operationName), { extensions })
}

function problemOf({ definitions }: DocumentNode, operationName: OperationName): string {
  const { length } = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  if (length === 0) return 'the document has no operation'
  if (typeof operationName !== 'string')
    return `the document has ${length} operations: name one of them in operationName`
  return `the document has no operation with the operationName ${JSON.stringify(operationName)}`
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
