/** What all tools that write have in common: each shows what it would do, and does it when that is confirmed. */
import type { ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Found } from './answer.ts'
import { AskError, type Variables } from './asking.ts'
import { confirmationOf } from './confirmation.ts'
import { defineTool, type Tool, type ToolContext } from './tool.ts'
import { mark, quote, untrusted } from './untrusted.ts'

const reason = z.string().trim().min(1).max(500).describe('Why. It goes into the audit log.')
const confirm = z
  .string()
  .max(64)
  .optional()
  .describe('The word of a preview with the same arguments. Absent: only a preview is made, and nothing is changed.')

const covers = z.array(z.object({ kind: z.string(), name: untrusted })).describe('What is covered now.')

/** `effect`: what would change, in numbers and in our own words. `about`: texts of others. `covers`: a page of what is covered, if not all of it. */
interface Preview {
  readonly revision: string
  readonly effect: Readonly<Record<string, number | boolean | string | null>>
  readonly about?: string
  readonly covers?: { readonly total: number; readonly rows: z.infer<typeof covers> }
  readonly page: string
}

interface Writing<Input extends z.ZodRawShape> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  readonly annotations: Pick<ToolAnnotations, 'destructiveHint' | 'idempotentHint'>
  preview(context: ToolContext, input: z.output<z.ZodObject<Input>>): Promise<Preview>
  /** The mutation and its input. */
  write(input: z.output<z.ZodObject<Input>> & { readonly reason: string }): {
    readonly document: string
    readonly input: Variables
  }
}

interface Result {
  readonly result: { readonly __typename: string; readonly message?: string; readonly revision?: string }
}

export function defineWritingTool<Input extends z.ZodRawShape>({
  preview,
  write,
  annotations,
  ...words
}: Writing<Input>): Tool {
  return defineTool({
    ...words,
    description: `${words.description} The first call shows what would change; a second one with its \`confirm\` does it.`,
    input: { ...words.input, reason, confirm } as Input & {
      readonly reason: typeof reason
      readonly confirm: typeof confirm
    },
    annotations: { readOnlyHint: false, openWorldHint: false, ...annotations },
    facts: {
      done: z.boolean().describe('False: this is a preview, and nothing has changed.'),
      effect: z.record(z.string(), z.union([z.number(), z.boolean(), z.string(), z.null()])),
      about: untrusted.nullable(),
      covers: covers.optional(),
      confirm: z.string().nullable().describe('Send it with the same arguments to do this. Null: it is done.'),
    },
    async run(context, given): Promise<Found> {
      const input = given as unknown as z.output<z.ZodObject<Input>> & {
        readonly reason: string
        readonly confirm?: string
      }
      const { revision, effect, about = null, covers: covered, page } = await preview(context, input)
      const word = confirmationOf(words.name, input, { effect, covers: covered?.rows })
      const isDone = input.confirm === word
      const written = isDone ? await send(context, write(input)) : null
      const what = Object.entries(effect).map(([name, value]) => `${name}: ${value}`)
      const outdated = input.confirm === undefined ? '' : ' The word given confirms another effect.'
      return {
        revision: written?.revision ?? revision,
        time: new Date(context.clock()).toISOString(),
        page,
        facts: {
          ...{ done: isDone, effect, about: about === null ? null : mark(about), confirm: isDone ? null : word },
          ...(covered && { covers: covered.rows.slice(0, given.limit) }),
        },
        ...(covered && {
          lists: { covers: { total: covered.total, how: 'ask with a larger limit, or open the page' } },
        }),
        lines: (kept) => [
          isDone ? 'Done.' : `Preview: nothing has changed.${outdated} To do it, call again with confirm "${word}".`,
          ...(about === null ? [] : [quote(mark(about))]),
          what.join(', '),
          ...((kept.covers ?? []) as z.infer<typeof covers>).map(({ kind, name }) => `${kind} ${quote(name)}`),
        ],
      }
    },
  })
}

async function send(
  { asking, signal }: ToolContext,
  { document, input }: { document: string; input: Variables },
): Promise<Result['result']> {
  const { result } = await asking.ask<Result>(document, { input }, signal)
  if (result.message !== undefined) throw new AskError(result.__typename.toUpperCase(), result.message)
  return result
}
