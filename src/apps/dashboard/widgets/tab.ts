/** The browser's tab: its title names the page, and title and icon count the failed deployments of the fleet. */
import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { escapeHidden } from '../../../domain/look-alike.ts'
import { formatNumber } from '../data/labels.ts'

/** The name of the page, until what it shows is known. */
export const pageTitle = signal('')
const subject = signal<string | null>(null)
/** Null: not known yet. */
export const failing = signal<number | null>(null)

/** What a page shows. Null: not known, or there is none. */
export function useTitle(text: string | null): void {
  useEffect(() => {
    subject.value = text
    return () => {
      subject.value = null
    }
  }, [text])
}

const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
const plain = icon?.href ?? ''

effect(() => {
  const count = failing.value ?? 0
  const title = escapeHidden(subject.value ?? pageTitle.value)
  document.title = `${count > 0 ? `(${formatNumber(count)}) ` : ''}${title} · Rollcall`
  icon?.setAttribute('href', count > 0 ? `data:image/svg+xml,${encodeURIComponent(draw(count))}` : plain)
})

const draw = (count: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M10 1h12l9 9v12l-9 9H10l-9-9V10z" fill="#c4122f"/>` +
  `<text x="16" y="22" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="${count > 9 ? 15 : 18}" ` +
  `fill="#fff">${count > 99 ? '99+' : count}</text></svg>`
