/**
 * What the OpenAPI document says of routes, besides what their declarations say. Servers load nothing of it: the documents are made of it before
 * (api/rest/contract/document.ts).
 */
import type { ErrorCode } from '../../domain/errors.ts'

/** The text and the bodies of one protocol. */
export interface Contract {
  readonly tag: string
  readonly description: string
  /** By the `operation` of a method. */
  readonly operations: Readonly<Record<string, Operation>>
  /** Of bodies and of parts of them. */
  readonly schemas: Readonly<Record<string, Schema>>
  /** Of paths. The example is a segment that the routes can read. */
  readonly parameters: Readonly<Record<string, { readonly description: string; readonly example: string }>>
}

export interface Operation {
  readonly summary: string
  readonly description?: string
  /** The forms of its body: an example of each, by the name of its schema. */
  readonly body?: Readonly<Record<string, unknown>>
  /** By status. `default`: of a refusal for persons. */
  readonly answers: Readonly<Record<number, Answer> & { default?: Answer }>
  /** Beyond those that its access and its body imply. */
  readonly problems?: readonly ErrorCode[]
  readonly query?: Readonly<Record<string, Schema>>
}

export interface Answer {
  readonly description: string
  /** Absent: there is no body. */
  readonly schema?: Schema
  /** Absent: JSON. */
  readonly media?: readonly string[]
  readonly example?: unknown
}

/** JSON Schema 2020-12: what the tests make bodies from knows the keywords that are used here (test/support/schema-bodies.ts). */
export type Schema = Readonly<Record<string, unknown>>

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** The names of the schemas that it refers to, and those that these refer to. */
export function usedBy(root: unknown, schemas: Readonly<Record<string, Schema>>): readonly string[] {
  const used = new Set<string>()
  const add = (one: unknown): void => {
    for (const [, name = ''] of JSON.stringify(one).matchAll(/#\/components\/schemas\/([\w.-]+)/g)) {
      if (used.has(name)) continue
      used.add(name)
      add(schemas[name])
    }
  }
  add(root)
  return [...used].sort()
}

/** A member whose name ends with a question mark is optional. */
export function object(members: Readonly<Record<string, Schema>>, description?: string): Schema {
  const entries = Object.entries(members)
  const required = entries.filter(([name]) => !name.endsWith('?')).map(([name]) => name)
  return {
    type: 'object',
    ...(description && { description }),
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
  }
}

export const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', ...more, items })
/** U+0000 cannot be stored. */
export const text = (maxLength: number, more: Schema = {}): Schema => ({
  ...{ type: 'string', maxLength, pattern: '^[^\\u0000]*$' },
  ...more,
})
export const id = (description: string): Schema => text(256, { minLength: 1, description })
export const word = (words: readonly string[], description: string): Schema => ({
  ...{ type: 'string', enum: words },
  description,
})
export const time = (description: string): Schema => ({ type: 'string', format: 'date-time', description })
export const anything = (description: string): Schema => ({ type: 'object', description })
export const string: Schema = { type: 'string' }
export const digits = (description: string): Schema => ({ type: 'string', pattern: '^[0-9]+$', description })
export const revision = digits('The number of the change, or of the newest one.')
export const fieldProblems = list(object({ field: string, message: string }), {
  description: 'Each field, and what is wrong with it.',
})
