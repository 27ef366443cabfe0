/** The error types of mutations: problems that the caller can correct. */
import type { DomainError } from '../../../domain/errors.ts'
import { builder } from '../builder.ts'

/** A path into `input`: field names and list indexes. */
export interface InputProblem {
  readonly path: readonly string[]
  readonly message: string
}

export type UserErrorType = 'InvalidInput' | 'NotFound' | 'Conflict' | 'Forbidden'

interface UserErrorOf<Type extends UserErrorType> {
  readonly type: Type
  readonly message: string
  readonly path: readonly string[] | null
  readonly problems: readonly InputProblem[]
}

type AnyUserError = UserErrorOf<UserErrorType>

const UserError = builder.interfaceRef<AnyUserError>('UserError').implement({
  access: 'anyone',
  description: 'An error that the caller can correct. Nothing was changed.',
  resolveType: (error) => error.type,
  fields: (t) => ({
    message: t.exposeString('message', { description: 'A text for people.' }),
    path: t.exposeStringList('path', {
      nullable: true,
      description: 'The path of the first problem in `input`. Null: the error does not concern a single field.',
    }),
  }),
})

export const Problem = builder.objectRef<InputProblem>('InputProblem').implement({
  access: 'anyone',
  description: 'A problem with one field of the input.',
  fields: (t) => ({
    path: t.exposeStringList('path', { description: 'The path of the field in `input`.' }),
    message: t.exposeString('message', { description: 'A text for people.' }),
  }),
})

export const InvalidInput = builder.objectRef<UserErrorOf<'InvalidInput'>>('InvalidInput').implement({
  access: 'anyone',
  description: 'The input is invalid.',
  interfaces: [UserError],
  fields: (t) => ({
    problems: t.expose('problems', {
      type: [Problem],
      description: 'All problems of the input. At most the first 100.',
    }),
  }),
})

export const NotFound = builder.objectRef<UserErrorOf<'NotFound'>>('NotFound').implement({
  access: 'anyone',
  description: 'An object that the input names does not exist.',
  interfaces: [UserError],
})

export const Conflict = builder.objectRef<UserErrorOf<'Conflict'>>('Conflict').implement({
  access: 'anyone',
  description: 'The input conflicts with existing data.',
  interfaces: [UserError],
})

export const Forbidden = builder.objectRef<UserErrorOf<'Forbidden'>>('Forbidden').implement({
  access: 'anyone',
  description: 'The caller is not allowed to execute this mutation.',
  interfaces: [UserError],
})

const maxProblems = 100

export function invalidInput(problems: readonly InputProblem[]): UserErrorOf<'InvalidInput'> {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return {
    type: 'InvalidInput',
    message: first ? `${shownPath(first.path)} ${first.message}${more}` : 'the input is invalid',
    path: first?.path ?? null,
    problems: problems.slice(0, maxProblems),
  }
}

const types: Partial<Record<DomainError['code'], UserErrorType>> = {
  INVALID_REQUEST: 'InvalidInput',
  BAD_USER_INPUT: 'InvalidInput',
  SEMANTIC_ERROR: 'InvalidInput',
  NOT_FOUND: 'NotFound',
  NOT_FOUND_YET: 'NotFound',
  CONFLICT: 'Conflict',
  FORBIDDEN: 'Forbidden',
}

/** Null: not one that the caller can correct. `names`: the names of the command's fields in the input, where they differ. */
export function toUserError(error: DomainError, names: Readonly<Record<string, string>>): AnyUserError | null {
  const type = types[error.code]
  if (!type) return null
  const problems = error.problems.map(({ field, message }) => ({ path: parsePath(names[field] ?? field), message }))
  return { type, message: error.message, path: problems[0]?.path ?? null, problems }
}

/** `devices[1].parent` → devices, 1, parent. */
function parsePath(field: string): string[] {
  return field.split(/[.[\]]+/).filter((step) => step !== '')
}

function shownPath(path: readonly string[]): string {
  return path.map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : `${index > 0 ? '.' : ''}${step}`)).join('')
}
