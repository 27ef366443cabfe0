/** Renders only the visible rows of a list; the page itself scrolls. The up and down keys move between rows. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

interface VirtualListProps<Row> {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly rowHeight: number
  readonly label: string
  readonly head?: readonly string[]
  /** The number of rows. */
  readonly total?: number | undefined
  readonly columns: string
  /** Widths that depend on the rows, as CSS variables. */
  readonly widths?: Readonly<Record<string, string>>
  /** Called when the last loaded rows come into view. */
  readonly more?: () => void
  readonly children: (row: Row) => ComponentChildren
}

const overscan = 8

/** Shows all rows that are loaded, and they flow from page to page. */
const paper = matchMedia('print')
const all = { first: 0, last: Number.MAX_SAFE_INTEGER }

export function VirtualList<Row>({
  rows,
  keyOf,
  rowHeight,
  label,
  head,
  total,
  columns,
  widths = {},
  more,
  children,
}: VirtualListProps<Row>) {
  const body = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ first: 0, last: 40 })

  const look = (): void => {
    if (paper.matches) {
      setSeen(all)
      return
    }
    const top = body.current?.getBoundingClientRect().top ?? 0
    const first = Math.max(Math.floor(-top / rowHeight) - overscan, 0)
    // A list far below the visible part has rows, too: Tab and screen readers reach them.
    const last = Math.max(Math.ceil((innerHeight - top) / rowHeight), 0) + overscan
    setSeen((known) => (known.first === first && known.last === last ? known : { first, last }))
  }
  useLayoutEffect(look)
  useEffect(() => {
    let frame = 0
    const later = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(look)
    }
    const print = (): void => setSeen(all)
    addEventListener('scroll', later, { passive: true })
    addEventListener('resize', later)
    addEventListener('beforeprint', print)
    paper.addEventListener('change', look)
    return () => {
      cancelAnimationFrame(frame)
      removeEventListener('beforeprint', print)
      paper.removeEventListener('change', look)
      removeEventListener('scroll', later)
      removeEventListener('resize', later)
    }
  }, [rowHeight])

  const isAtEnd = seen.last >= rows.length
  // Not only if their number changes: a list that is loaded again while a page is under way drops that page, and may be as long as before.
  useEffect(() => {
    if (isAtEnd) more?.()
  }, [isAtEnd, rows])

  const isFlowing = seen === all
  const first = Math.min(seen.first, Math.max(rows.length - 1, 0))
  return (
    <div
      class={`table ${columns}`}
      style={widths}
      role="table"
      aria-label={label}
      aria-rowcount={(total ?? rows.length) + (head ? 1 : 0)}
      onKeyDown={moveBetweenRows}
    >
      {head && (
        <div class="head" role="row" aria-rowindex={1}>
          {head.map((title) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
        </div>
      )}
      <div
        class="rows"
        ref={body}
        role="rowgroup"
        style={isFlowing ? undefined : { height: `${rows.length * rowHeight}px` }}
      >
        {rows.slice(first, seen.last).map((row, index) => (
          <div
            key={keyOf(row)}
            class="row"
            role="row"
            aria-rowindex={first + index + (head ? 2 : 1)}
            style={
              isFlowing
                ? undefined
                : { height: `${rowHeight}px`, transform: `translateY(${(first + index) * rowHeight}px)` }
            }
          >
            {children(row)}
          </div>
        ))}
      </div>
    </div>
  )
}

export function Cell({ class: name, children }: { readonly class?: string; readonly children?: ComponentChildren }) {
  return (
    <span role="cell" class={name}>
      {children}
    </span>
  )
}

function moveBetweenRows(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const own = (event.target as Element).closest('.row')
  if (!step || !own?.parentElement) return
  const rows = [...own.parentElement.children].sort((a, b) => rowIndex(a) - rowIndex(b))
  const next = rows[rows.indexOf(own) + step]
  const link = next?.querySelector<HTMLElement>('a')
  if (!link) return
  event.preventDefault()
  link.focus()
}

const rowIndex = (row: Element): number => Number(row.getAttribute('aria-rowindex'))
