/** The parameters of a status query (docs/wire.md §2.1). Unknown parameters are ignored, as in EMCO. */
import { DomainError } from '../../../domain/errors.ts'
import { parseCluster } from '../../../domain/target.ts'

export interface StatusQuery {
  /** The kind of status, and with it the generation of keys: the design's (rsync, cluster) or that of 22.03 (deployed, ready). */
  readonly of: 'rsync' | 'cluster' | 'deployed' | 'ready'
  readonly output: 'summary' | 'all' | 'detail'
  /** Null: all. */
  readonly apps: readonly string[] | null
  /** `provider+name`, or `+name` of any provider. */
  readonly clusters: readonly string[] | null
  readonly resources: readonly string[] | null
  /** Null: the latest. */
  readonly instance: string | null
  /** Return only this list. Null: return the status. */
  readonly list: 'instances' | 'apps' | 'clusters' | 'resources' | null
}

export function parseStatusQuery(search: string): StatusQuery {
  const given = new URLSearchParams(search.replaceAll('+', '%2B'))
  const type = oneOf(given, 'type', ['rsync', 'cluster'] as const)
  const status = oneOf(given, 'status', ['deployed', 'ready'] as const)
  const output = oneOf(given, 'output', ['summary', 'all', 'detail', 'rsync'] as const)
  const instance = single(given, 'instance')
  const isListed = (name: string): boolean => given.has(name)
  return {
    // An early draft requests the applied objects with output=rsync.
    of: status ?? (output === 'rsync' ? 'rsync' : (type ?? 'rsync')),
    output: output === 'rsync' ? 'detail' : (output ?? 'all'),
    apps: all(given, 'app', (name) => name !== ''),
    clusters: clustersOf(given),
    resources: all(given, 'resource', (name) => name !== ''),
    instance: instance === '' ? null : instance,
    list:
      instance === ''
        ? 'instances'
        : ((['apps', 'clusters', 'resources'] as const).find((name) => isListed(name)) ?? null),
  }
}

function single(given: URLSearchParams, name: string): string | null {
  const [value = null, ...more] = given.getAll(name)
  return more.length === 0 ? value : invalid(name, 'must be given once')
}

function oneOf<Value extends string>(given: URLSearchParams, name: string, values: readonly Value[]): Value | null {
  const value = single(given, name)
  if (value === null) return null
  return values.find((one) => one === value) ?? invalid(name, `must be one of ${values.join(', ')}`)
}

function all(given: URLSearchParams, name: string, isFine: (value: string) => boolean): readonly string[] | null {
  const values = given.getAll(name)
  if (values.length === 0) return null
  if (!values.every(isFine))
    invalid(name, name === 'cluster' ? 'must be provider+name, or a name' : 'must not be empty')
  return values
}

/** A name without a provider, as in the early draft, matches any provider. */
function clustersOf(given: URLSearchParams): readonly string[] | null {
  const isBare = (name: string): boolean => name !== '' && !name.includes('+')
  const named = all(given, 'cluster', (name) => isBare(name) || parseCluster(name) !== null)
  return named?.map((name) => (isBare(name) ? `+${name}` : name)) ?? null
}

function invalid(name: string, message: string): never {
  throw new DomainError(
    'BAD_USER_INPUT',
    `Invalid query ${name}`.replace(/query (app|cluster|resource)$/, '$1 query'),
    {
      problems: [{ field: name, message }],
    },
  )
}
