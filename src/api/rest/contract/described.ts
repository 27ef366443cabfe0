/** The routes with what is said of them: from the tables that route, limit and authorize requests, and from the contracts, which have the text. */
import type { Contract, Operation } from '../../../ingest/dialects/contract.ts'
import type { Dialect } from '../../../ingest/dialects/dialect.ts'
import { type DialectDeps, serveMethods } from '../dialects/serve.ts'
import type { Route } from '../exchange.ts'
import { type OwnOperation, own, ownContract } from './own.ts'

/** One method of a route. */
export interface Described extends Operation, Pick<Route, 'access' | 'media' | 'limit'> {
  readonly operationId: string
  readonly tag: string
  /** As OpenAPI writes it. */
  readonly path: string
  readonly method: string
  /** Of its path, by name. */
  readonly parameters: Contract['parameters']
  /** What may stand before the path. */
  readonly prefixes: readonly string[]
}

/** No handler is called, so none needs what it is made of. */
const noDeps = {} as DialectDeps

export function ofDialect({ name, routes }: Dialect, contract: Contract): readonly Described[] {
  const copies = Map.groupBy(routes, ({ template, copy }) => template.slice(copy?.prefix.length ?? 0))
  return [...copies].flatMap(([template, [first, ...more]]) => {
    if (!first || isSame(template, copies)) return []
    const { path, parameters } = shown(template, contract)
    const segments = Object.fromEntries(
      [...template.matchAll(/:([\w-]+)|\*$/g)].map(([, key = '*']) => [key, parameters[named(key)]?.example ?? '']),
    )
    const methods = first.read(segments, template) ?? {}
    const served = serveMethods(noDeps, methods)
    return Object.entries(methods).map(([method, declared]) => {
      const { operation } = declared
      const said = contract.operations[operation]
      const route = served[method]
      if (!said || !route)
        throw new Error(`the contract of ${name} does not describe ${operation}: ${method} ${template}`)
      const success = 'success' in declared ? declared.success : null
      const answers = Object.entries(said.answers).filter(([status]) => success === null || success === Number(status))
      const parts = [
        operation,
        first.copy?.of,
        template.endsWith('*') && 'named',
        method === 'PUT' && methods.POST && 'put',
      ]
      return {
        ...said,
        ...{ path, method, parameters, tag: contract.tag, answers: Object.fromEntries(answers) },
        ...{ access: route.access, media: route.media ?? [], ...(route.limit && { limit: route.limit }) },
        operationId: parts
          .filter((part) => typeof part === 'string')
          .join('_')
          .replaceAll(/\W+/g, '_'),
        prefixes: [first, ...more].map(({ copy }) => copy?.prefix ?? ''),
        ...(copies.has(`${template}/`) && {
          description: `${said.description ?? ''} The path may end with a slash.`.trim(),
        }),
      }
    })
  })
}

/** A path with a slash at its end is described with the one that has none. */
const isSame = (template: string, copies: ReadonlyMap<string, unknown>): boolean =>
  template.endsWith('/') && copies.has(template.slice(0, -1))

export function ofServer(): readonly Described[] {
  return Object.entries<Readonly<Record<string, OwnOperation>>>(own).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { operation, ...said }]) => ({
      ...{ media: [], ...said, ...shown(template, ownContract), method },
      ...{ tag: ownContract.tag, operationId: operation, prefixes: [''] },
    })),
  )
}

/** The rest of a path is a name, or that of a device, which may have slashes. */
const named = (key: string): string => (key === '*' ? 'rest' : key)

function shown(template: string, contract: Pick<Contract, 'parameters'>): Pick<Described, 'path' | 'parameters'> {
  const path = template.replace(/\*$/, ':rest').replaceAll(/:([\w-]+)/g, '{$1}')
  const parameters = [...path.matchAll(/\{([\w-]+)\}/g)].map(([, name = '']) => {
    const said = contract.parameters[name]
    if (!said) throw new Error(`${path}: ${name} is not described`)
    return [name, said] as const
  })
  return { path, parameters: Object.fromEntries(parameters) }
}
