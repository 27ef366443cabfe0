/** What each tool is: its words, its schemas, and what it does. assistant.ts registers them. */
import type { ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { envelope, type Found, limit } from './answer.ts'
import type { Asking } from './asking.ts'

export interface ToolContext {
  readonly asking: Asking
  /** The client cancelled the call, or is gone. */
  readonly signal: AbortSignal
  readonly clock: () => number
  /** Tells the client how far the tool is, if it asked for that. */
  progress(done: number, total: number, message: string): Promise<void>
}

interface Definition<Input extends z.ZodRawShape> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  readonly facts: z.ZodRawShape
  readonly annotations?: ToolAnnotations
  run(context: ToolContext, input: z.output<z.ZodObject<Input>> & { readonly limit: number }): Promise<Found>
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  readonly annotations: ToolAnnotations
  run(context: ToolContext, input: { readonly limit: number }): Promise<Found>
}

const reading: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

export function defineTool<Input extends z.ZodRawShape>(definition: Definition<Input>): Tool {
  const { input, facts, annotations = reading, run, ...words } = definition
  return {
    ...words,
    input: z.strictObject({ ...input, limit }),
    output: z.object({ ...envelope, ...facts }),
    annotations,
    // The SDK parses the input by the schema.
    run: (context, given) => run(context, given as Parameters<typeof run>[1]),
  }
}

/** A moment in ISO 8601. */
export const time = z.iso.datetime({ offset: true })
export const id = z.string().min(1).max(256)
