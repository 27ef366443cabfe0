/** Filters are stored in the address, so a link shows the same list. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { adjust, type Parameters, route } from '../../route.ts'

export function useFilters() {
  const { parameters } = route.value
  return {
    text: (name = 'text'): string => parameters.get(name) ?? '',
    one: (name: string): string | null => parameters.get(name),
    /** Only known values count. */
    many: <Value extends string>(name: string, known: readonly Value[]): Value[] =>
      known.filter((value) => parameters.getAll(name).includes(value)),
    isSet: (name: string): boolean => parameters.get(name) === 'true',
    set: (changes: Parameters): void => adjust(changes),
  }
}

interface FiltersProps {
  readonly label: string
  /** The parameters of the address that they set. */
  readonly names: string
  /** Always shown: fields to type in. */
  readonly fields?: ComponentChildren
  readonly children: ComponentChildren
}

/** On a phone they would fill the screen above the list: only those that are set are shown there, until the button is pressed. */
export function Filters({ label, names, fields, children }: FiltersProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <div class={`filters${isOpen ? ' open' : ''}`} role="search" data-filters={names} aria-label={label}>
      {fields}
      <button type="button" class="more toggle" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        Filters
      </button>
      {children}
    </div>
  )
}

interface ChoiceProps<Value extends string> {
  readonly name: string
  readonly label: string
  readonly options: Readonly<Record<Value, string>>
}

/** The chosen values are alternatives. None chosen means all. */
export function Choice<Value extends string>({ name, label, options }: ChoiceProps<Value>) {
  const { many, set } = useFilters()
  const values = Object.keys(options) as Value[]
  const chosen = many(name, values)
  const toggle = (value: Value): void =>
    set({ [name]: chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value], after: null })
  return (
    <div class="choice" role="group" aria-label={label}>
      {values.map((value) => (
        <button key={value} type="button" aria-pressed={chosen.includes(value)} onClick={() => toggle(value)}>
          {options[value]}
        </button>
      ))}
    </div>
  )
}

export function Toggle({ name, children }: { readonly name: string; readonly children: string }) {
  const { isSet, set } = useFilters()
  return (
    <button
      type="button"
      class="toggle"
      aria-pressed={isSet(name)}
      onClick={() => set({ [name]: isSet(name) ? null : 'true', after: null })}
    >
      {children}
    </button>
  )
}

/** A filter that a link has set. A click removes it. */
export function FilterChip({ name, children }: { readonly name: string; readonly children: string }) {
  const { set } = useFilters()
  return (
    <button type="button" class="toggle" aria-pressed="true" onClick={() => set({ [name]: null, after: null })}>
      {children} ✕
    </button>
  )
}

/** The page buttons below a list. */
export function Pager({
  page,
}: {
  readonly page: { readonly hasNextPage: boolean; readonly endCursor: string | null } | undefined
}) {
  const { one, set } = useFilters()
  return (
    <div class="pager">
      {one('after') && (
        <button type="button" onClick={() => set({ after: null })}>
          First page
        </button>
      )}
      {page?.hasNextPage && (
        <button type="button" onClick={() => set({ after: page.endCursor })}>
          Next page
        </button>
      )}
    </div>
  )
}

/** Updates the address when typing pauses, so that not every key sends a query. */
export function SearchField({ label, name = 'text' }: { readonly label: string; readonly name?: string }) {
  const { text } = useFilters()
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const value = text(name)
  /** What the field has put into the address. */
  const set = useRef(value)
  useEffect(() => {
    // A link or the Back button has changed the address: the field shows what filters the list.
    if (field.current && value !== set.current) {
      clearTimeout(timer.current)
      field.current.value = value
    }
    set.current = value
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const later = (): void => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      set.current = field.current?.value ?? ''
      adjust({ [name]: set.current, after: null })
    }, 250)
  }
  return <input ref={field} type="search" aria-label={label} placeholder={label} defaultValue={value} onInput={later} />
}

/** `site=munich`, the text of a filter by label. A key that contains `=` or `%` has `%3D` or `%25` there, because the first `=` ends the key. */
export function writeLabel({ key, value }: { readonly key: string; readonly value: string }): string {
  return `${key.replaceAll('%', '%25').replaceAll('=', '%3D')}=${value}`
}

/** Why a text filters nothing, after the number of rows. Empty: it is a label, or there is none. */
export const describeNoLabel = (text: string | null): string =>
  text && parseLabel(text) === null ? `, not filtered by “${text}”: a label has the form key=value` : ''

/** Null: not the text of a filter by label. */
export function parseLabel(text: string | null): { readonly key: string; readonly value: string } | null {
  const at = text?.indexOf('=') ?? -1
  if (text === null || at < 0) return null
  return { key: text.slice(0, at).replaceAll('%3D', '=').replaceAll('%25', '%'), value: text.slice(at + 1) }
}
