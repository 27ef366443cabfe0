/** The address after the # holds the page and its filters, so reloading or sharing it shows the same. */
import { computed, signal } from '@preact/signals'
import { now } from './data/time.ts'

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

/** Scrolls to the list that a link has filtered: it may be below the visible part of the page. */
function showFiltered(before: URLSearchParams, after: URLSearchParams): void {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const changed = names.filter((name) => String(before.getAll(name)) !== String(after.getAll(name)))
  const list = [...document.querySelectorAll<HTMLElement>('[data-filters]')].find((element) =>
    element.dataset.filters?.split(' ').some((name) => changed.includes(name)),
  )
  list?.scrollIntoView({ block: 'start' })
}

/** The past time that is shown; null: the present. */
export const at = computed(() => route.value.parameters.get('at'))

export type Parameters = Readonly<Record<string, string | readonly string[] | null>>

/** The time that is shown, in milliseconds: ages are relative to it. */
export const moment = computed(() => (at.value === null ? now.value : Date.parse(at.value)))

/** An address for links. It keeps the time that is shown unless `parameters` replaces it. */
export function href(path: readonly string[], parameters: Parameters = {}): string {
  const query = write(new URLSearchParams(), { at: at.value, ...parameters })
  return `#/${path.map(encodeURIComponent).join('/')}${query}`
}

/** Changes this page's parameters. Typing and sliding add no entries to the browser's history. */
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
