/** How tools ask: the server executes their documents itself, and `rollcall mcp` sends them to a server. */

export type Variables = Readonly<Record<string, unknown>>

export interface Subscription<Data> {
  readonly query: string
  readonly variables: Variables
  readonly next: (data: Data) => void
}

export interface Asking {
  /** The address of the page, without a trailing slash. */
  readonly url: string
  /** Whether the tools that write are offered. The API checks the rights of the caller besides. */
  readonly isWriting: boolean
  /** Throws an AskError, or another error with a code of the API. */
  ask<Data>(document: string, variables?: Variables, signal?: AbortSignal): Promise<Data>
  /** Calls `next` with each result until the signal is aborted. Throws as `ask` does. */
  follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void>
}

/** An error for the caller, with a code of the API. */
export class AskError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'AskError'
    this.code = code
  }
}

/** The API refused a value, which no retry changes. */
export const isInvalid = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'BAD_USER_INPUT'
