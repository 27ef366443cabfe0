/** Traces the operations of all transports. Loaded only where it is configured. */
import type { IncomingMessage } from 'node:http'
import type { ExecutionArgs } from 'graphql'

/** `request`: of the operation, or of its socket. `work` executes the operation, or begins a subscription. */
export type TraceOperation = <Result extends object>(
  operation: Pick<ExecutionArgs, 'document' | 'operationName'>,
  request: IncomingMessage | null,
  work: () => Promise<Result>,
) => Promise<Result>

export const untraced: TraceOperation = (_, __, work) => work()
