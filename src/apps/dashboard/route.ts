/**
 * The address holds the page and its filters, so reloading or sharing it shows the same.
 *
 *   /deployment/edge-1/web?at=…    the address of a page
 *   /#/deployment/edge-1/web?at=…  the same: older links, and IDs that a path cannot hold
 */
import { computed, signal } from '@preact/signals'
import { clock, now } from './data/time.ts'
import { pageNames } from './page-names.ts'
import { keepPosition, returnTo } from './position.ts'

interface Route {
  readonly path: readonly string[]
  readonly parameters: URLSearchParams
}

/** The address of the overview. The page may be served below a path. */
export const root = new URL('..', import.meta.url)

function parse(): Route {
  const [path = '', query = ''] = location.hash.startsWith('#/')
    ? location.hash.slice(1).split('?')
    : [location.pathname.slice(root.pathname.length), location.search.slice(1)]
  const steps = path.split('/').filter((step) => step !== '')
  return { path: steps.map(decode), parameters: new URLSearchParams(query) }
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

// Browsers resolve it again at each new address.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel="icon"]')) icon.setAttribute('href', icon.href)

export const route = signal(parse())
settle()

function show(): void {
  const before = route.value
  shown = location.href
  route.value = parse()
  if (before.path.join('/') === route.value.path.join('/')) showFiltered(before.parameters, route.value.parameters)
}
let shown = location.href
addEventListener('popstate', ({ state }) => {
  returnTo(state, shown)
  show()
})
addEventListener('hashchange', () => {
  show()
  settle()
})

/** Replaces an older link by its address. */
function settle(): void {
  if (location.hash.startsWith('#/')) adjust({})
}

// Links to pages are followed without loading the page again. New tabs are the browser's.
addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
  if (!link || !isPlain || event.defaultPrevented || link.target !== '' || !isPage(link)) return
  event.preventDefault()
  if (link.href !== location.href) push(link.href)
  show()
})

function push(address: string): void {
  keepPosition()
  history.pushState(null, '', address)
}

function isPage({ href: address, hash }: HTMLAnchorElement): boolean {
  if (!address.startsWith(root.href)) return false
  const [name = ''] = address.slice(root.href.length).split(/[/?#]/)
  return name === '' ? hash === '' || hash.startsWith('#/') : pageNames.some((each) => each === name)
}

/** Scrolls to the list that a link has filtered: it may be below the visible part of the page. */
function showFiltered(before: URLSearchParams, after: URLSearchParams): void {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const changed = names.filter((name) => String(before.getAll(name)) !== String(after.getAll(name)))
  const list = [...document.querySelectorAll<HTMLElement>('[data-filters]')].find((element) =>
    element.dataset.filters?.split(' ').some((name) => changed.includes(name)),
  )
  list?.scrollIntoView({ block: 'start' })
}

/** The past time that is chosen; null: the present. What is no time, or is still to come, is the present. */
export const chosenTime = computed(() => {
  const text = route.value.parameters.get('at') ?? ''
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return time <= clock() ? new Date(time).toISOString() : null
})

/** Pages that show the present only. */
const presentPages: readonly (string | undefined)[] = ['feed', 'setup']

/** The past time that this page shows. */
export const at = computed(() => (presentPages.includes(route.value.path[0]) ? null : chosenTime.value))

export type Parameters = Readonly<Record<string, string | readonly string[] | null>>

/** The time that is shown, in milliseconds: ages are relative to it. */
export const moment = computed(() => (at.value === null ? now.value : Date.parse(at.value)))

/** An address for links. It keeps the time that is shown, and the range around it, unless `parameters` replaces them. */
export const href = (path: readonly string[], parameters: Parameters = {}): string => {
  const window = route.value.parameters.get('window')
  return addressOf(path, write(new URLSearchParams(), { at: chosenTime.value, window, ...parameters }))
}

/** Browsers drop `.` and `..` from paths, and no path has an empty part. */
function addressOf(path: readonly string[], query: string): string {
  const steps = path.map(encodeURIComponent).join('/')
  return path.some((step) => ['', '.', '..'].includes(step))
    ? `${root.pathname}#/${steps}${query}`
    : `${root.pathname}${steps}${query}`
}

/** Changes this page's parameters. Typing and sliding add no entries to the browser's history. */
export function adjust(parameters: Parameters): void {
  replace(route.value.path, parameters)
}

/** The same with another path, for a page that has two addresses. */
export function replace(path: readonly string[], parameters: Parameters): void {
  const { parameters: before } = route.value
  history.replaceState(null, '', addressOf(path, write(new URLSearchParams(before), parameters)))
  shown = location.href
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
  push(href(path, parameters))
  show()
}
