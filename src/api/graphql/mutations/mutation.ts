/**
 * A mutation: `pauseSink` takes a PauseSinkInput and returns a PauseSinkResult, which is a PauseSinkSuccess or an error that the
 * caller can correct.
 */
import type { InputFieldMap, InputShapeFromFields, ObjectFieldsShape } from '@pothos/core'
import { DomainError } from '../../../domain/errors.ts'
import type { Access } from '../../../domain/principal.ts'
import { builder, type SchemaTypes } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { checkInput, type InputCheck } from './input-check.ts'
import {
  Conflict,
  Forbidden,
  InvalidInput,
  invalidInput,
  NotFound,
  toUserError,
  type UserErrorType,
} from './user-error.ts'

type InputFieldBuilder = PothosSchemaTypes.InputFieldBuilder<SchemaTypes, 'InputObject'>

export type SuccessFields<Row> = ObjectFieldsShape<SchemaTypes, Row>

// `act` stands before `success`, because the compiler infers the type of `Row` in that order.
interface Mutation<Fields extends InputFieldMap, Checked, Row extends object> {
  readonly access: Access
  readonly description: string
  readonly input: {
    /** Of the argument. */
    readonly description: string
    /** Of the input type, in addition to its name. */
    readonly note?: string
    readonly fields: (t: InputFieldBuilder) => Fields
  }
  /** What it returns besides InvalidInput and Forbidden. */
  readonly errors?: readonly ('NotFound' | 'Conflict')[]
  /** Adds all problems of the input. What it returns is for `act`, which runs only if there are none. */
  readonly check?: (
    input: InputShapeFromFields<Fields>,
    check: InputCheck,
    context: Context,
  ) => Checked | Promise<Checked>
  readonly act: (input: InputShapeFromFields<Fields>, context: Context, checked: Checked) => Promise<Row>
  readonly success: {
    /** The access that its fields require, if it is not that of the mutation. */
    readonly access?: Access
    readonly description: string
    readonly fields: SuccessFields<Row>
  }
  /** The names of the command's fields in the input, where they differ. */
  readonly names?: Readonly<Record<string, string>>
}

const errorTypes = { InvalidInput, NotFound, Conflict, Forbidden }

interface Outcome {
  readonly type: string
}

export function addMutation<Fields extends InputFieldMap, Checked, Row extends object>(
  name: string,
  mutation: Mutation<Fields, Checked, Row>,
): void {
  add(name, mutation as unknown as Mutation<InputFieldMap, unknown, Outcome>)
}

function add(name: string, mutation: Mutation<InputFieldMap, unknown, Outcome>): void {
  const { access, description, input, errors = [], check, act, success, names = {} } = mutation
  const typeName = name.charAt(0).toUpperCase() + name.slice(1)
  const type = `${typeName}Success`
  const allowed: readonly UserErrorType[] = ['InvalidInput', ...errors, 'Forbidden']

  const Input = builder.inputType(`${typeName}Input`, {
    description: `Input of \`${name}\`.${input.note ? ` ${input.note}` : ''}`,
    fields: input.fields,
  })
  const Success = builder.objectRef<Outcome>(type).implement({
    access: success.access ?? access,
    description: success.description,
    fields: success.fields,
  })
  const Result = builder.unionType(`${typeName}Result`, {
    description: `Result of \`${name}\`.`,
    types: [Success, ...allowed.map((error) => errorTypes[error])],
    resolveType: (outcome) => outcome.type,
  })

  async function resolve(given: InputShapeFromFields<InputFieldMap>, context: Context): Promise<Outcome> {
    const found = checkInput()
    const checked = await check?.(given, found, context)
    if (found.problems.length > 0) return invalidInput(found.problems)
    try {
      return { ...(await act(given, context, checked)), type }
    } catch (error) {
      const refusal = error instanceof DomainError ? toUserError(error, names) : null
      if (!refusal || !allowed.includes(refusal.type)) throw error
      return refusal
    }
  }

  builder.mutationField(name, (t) =>
    t.field({
      access,
      type: Result,
      description,
      args: { input: t.arg({ type: Input, required: true, description: input.description }) },
      resolve: (_, args, context) => resolve(args.input, context),
    }),
  )
}
