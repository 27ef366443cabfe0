/** Batches single reads into one statement (DataLoader) and caches the results. */
import DataLoader from 'dataloader'

interface Batched<Key, Arguments extends readonly unknown[], Value> {
  (key: Key, ...rest: Arguments): Promise<Value | undefined>
  /** The cached value without a promise: awaiting each row of a page costs more than building it. */
  known(key: Key, ...rest: Arguments): Value | undefined
}

/** One loader per combination of arguments. Keys requested in one turn of the event loop are loaded together. */
export function batched<Key, Arguments extends readonly unknown[], Value>(
  load: (keys: readonly Key[], ...rest: Arguments) => Promise<ReadonlyMap<number, Value>>,
  answerKey: (key: Key, index: number) => number = Number,
): Batched<Key, Arguments, Value> {
  interface Loader extends DataLoader<Key, Value | undefined, string | number> {
    readonly loaded: Map<string | number, Value | undefined>
  }
  const byArguments = new Map<string, Loader>()

  function loaderFor(rest: Arguments): Loader {
    const loaded: Loader['loaded'] = new Map()
    const loadAll = async (keys: readonly Key[]): Promise<(Value | undefined)[]> => {
      const answers = await load(keys, ...rest)
      return keys.map((one, index) => {
        const answer = answers.get(answerKey(one, index))
        loaded.set(cacheKey(one), answer)
        return answer
      })
    }
    return Object.assign(new DataLoader(loadAll, { cacheKeyFn: cacheKey }), { loaded })
  }

  function askFor(key: Key, ...rest: Arguments): Promise<Value | undefined> {
    const name = nameOf(rest)
    let loader = byArguments.get(name)
    if (!loader) {
      loader = loaderFor(rest)
      byArguments.set(name, loader)
    }
    return loader.load(key)
  }

  return Object.assign(askFor, {
    known: (key: Key, ...rest: Arguments) => byArguments.get(nameOf(rest))?.loaded.get(cacheKey(key)),
  })
}

function cacheKey(key: unknown): string | number {
  return typeof key === 'number' ? key : JSON.stringify(key)
}

const texts = new WeakMap<object, string>()

/** The cache key of arguments. The most frequent case is the present. Each row of a page has the same filter, which may be large: its text is made once. */
function nameOf(rest: readonly unknown[]): string {
  return rest.length === 1 && rest[0] === null ? '[null]' : rest.map(textOf).join()
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  const text = texts.get(value) ?? JSON.stringify(value)
  texts.set(value, text)
  return text
}

export function remembered<Arguments extends readonly unknown[], Value>(
  load: (...rest: Arguments) => Promise<Value>,
): (...rest: Arguments) => Promise<Value> {
  const byArguments = new Map<string, Promise<Value>>()
  return (...rest) => {
    const name = nameOf(rest)
    let value = byArguments.get(name)
    if (!value) {
      value = load(...rest)
      byArguments.set(name, value)
    }
    return value
  }
}
