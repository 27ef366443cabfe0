/** What a mutation answers instead of a success: a problem that its caller can mend. */
import { DomainError } from '../domain/errors.ts'
import { builder } from './builder.ts'

/** A path into `input`: names of fields and indexes of lists. */
export interface InputProblem {
  readonly path: readonly string[]
  readonly message: string
}

export type UserErrorType = 'InvalidInput' | 'NotFound' | 'Conflict' | 'Forbidden'

export interface UserErrorOf<Type extends UserErrorType> {
  readonly type: Type
  readonly message: string
  readonly path: readonly string[] | null
  readonly problems: readonly InputProblem[]
}

type AnyUserError = UserErrorOf<UserErrorType>

export const UserError = builder.interfaceRef<AnyUserError>('UserError').implement({
  access: 'anyone',
  description: 'Why nothing was done.',
  resolveType: (error) => error.type,
  fields: (t) => ({
    message: t.exposeString('message', { description: 'For people.' }),
    path: t.exposeStringList('path', {
      nullable: true,
      description: 'Where in `input` the first problem is; null when it is not about one place.',
    }),
  }),
})

export const Problem = builder.objectRef<InputProblem>('InputProblem').implement({
  access: 'anyone',
  description: 'A problem with one place of the input.',
  fields: (t) => ({
    path: t.exposeStringList('path', { description: 'Where in `input` it is.' }),
    message: t.exposeString('message', { description: 'For people.' }),
  }),
})

export const InvalidInput = builder.objectRef<UserErrorOf<'InvalidInput'>>('InvalidInput').implement({
  access: 'anyone',
  description: 'The input breaks a rule.',
  interfaces: [UserError],
  fields: (t) => ({
    problems: t.expose('problems', {
      type: [Problem],
      description: 'Everything that is wrong; at most the first 100.',
    }),
  }),
})

export const NotFound = builder.objectRef<UserErrorOf<'NotFound'>>('NotFound').implement({
  access: 'anyone',
  description: 'What the input names is not there.',
  interfaces: [UserError],
})

export const Conflict = builder.objectRef<UserErrorOf<'Conflict'>>('Conflict').implement({
  access: 'anyone',
  description: 'It cannot be so together with what is there.',
  interfaces: [UserError],
})

export const Forbidden = builder.objectRef<UserErrorOf<'Forbidden'>>('Forbidden').implement({
  access: 'anyone',
  description: 'The caller may not do this.',
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

/**
 * Does it, unless the input has problems; refusals of one of these types become values, everything else is thrown on.
 * `names`: what the input calls a field that the command calls otherwise.
 */
export async function attempt<Success, Type extends UserErrorType>(
  allowed: readonly Type[],
  problems: readonly InputProblem[],
  act: () => Promise<Success>,
  names: Readonly<Record<string, string>> = {},
): Promise<Success | UserErrorOf<Type | 'InvalidInput'>> {
  if (problems.length > 0) return invalidInput(problems)
  try {
    return await act()
  } catch (error) {
    const type = error instanceof DomainError ? allowed.find((one) => one === types[error.code]) : undefined
    if (!(error instanceof DomainError) || !type) throw error
    const told = error.problems.map(({ field, message }) => ({ path: parsePath(names[field] ?? field), message }))
    return { type, message: error.message, path: told[0]?.path ?? null, problems: told }
  }
}

/** `devices[1].parent` → devices, 1, parent. */
function parsePath(field: string): string[] {
  return field.split(/[.[\]]+/).filter((step) => step !== '')
}

function shownPath(path: readonly string[]): string {
  return path.map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : `${index > 0 ? '.' : ''}${step}`)).join('')
}
