/** Where we are is in the address, after the #: a page, and what it is filtered by. Reloading or sharing it shows the same. */
import { computed, signal } from '@preact/signals'
import { now } from './time.ts'

export interface Route {
  readonly path: readonly string[]
  readonly parameters: URLSearchParams
}

function parse(): Route {
  const [path = '', query = ''] = location.hash.slice(1).split('?')
  const steps = path.split('/').filter((step) => step !== '')
  return { path: steps.map(decodeURIComponent), parameters: new URLSearchParams(query) }
}

export const route = signal(parse())
addEventListener('hashchange', () => {
  const before = route.value
  route.value = parse()
  if (before.path.join('/') === route.value.path.join('/')) showFiltered(before.parameters, route.value.parameters)
})

/** A link that filters a list of this page leads to that list, which may be far below. */
function showFiltered(before: URLSearchParams, after: URLSearchParams): void {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const changed = names.filter((name) => String(before.getAll(name)) !== String(after.getAll(name)))
  const list = [...document.querySelectorAll<HTMLElement>('[data-filters]')].find((element) =>
    element.dataset.filters?.split(' ').some((name) => changed.includes(name)),
  )
  list?.scrollIntoView({ block: 'start' })
}

/** The moment that is looked back to; null: the present. */
export const at = computed(() => route.value.parameters.get('at'))

export type Parameters = Readonly<Record<string, string | readonly string[] | null>>

/** The time that it is, where one looks: ages are counted from it. */
export const moment = computed(() => (at.value === null ? now.value : Date.parse(at.value)))

/** An address for links. The moment looked back to stays, unless it says another. */
export function href(path: readonly string[], parameters: Parameters = {}): string {
  const query = write(new URLSearchParams(), { at: at.value, ...parameters })
  return `#/${path.map(encodeURIComponent).join('/')}${query}`
}

/** This page with other parameters; typing and sliding make no steps to go back to. */
export function adjust(parameters: Parameters): void {
  const query = write(new URLSearchParams(route.value.parameters), parameters)
  history.replaceState(null, '', `#/${route.value.path.map(encodeURIComponent).join('/')}${query}`)
  route.value = parse()
}

function write(query: URLSearchParams, parameters: Parameters): string {
  for (const [name, value] of Object.entries(parameters)) {
    query.delete(name)
    for (const each of typeof value === 'string' ? [value] : (value ?? [])) if (each !== '') query.append(name, each)
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

export function go(path: readonly string[], parameters: Parameters = {}): void {
  location.hash = href(path, parameters)
}
