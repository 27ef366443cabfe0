/** The width of the window, and the chosen colour theme. */
import { signal } from '@preact/signals'

const narrow = matchMedia('(max-width: 700px)')
const isNarrow = signal(narrow.matches)
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches
})

export const useIsNarrow = (): boolean => isNarrow.value

export type Theme = 'auto' | 'light' | 'dark'

const place = 'rollcall-theme'

export const theme = signal<Theme>(readTheme())
applyTheme(theme.value)

export function chooseTheme(choice: Theme): void {
  theme.value = choice
  applyTheme(choice)
  try {
    if (choice === 'auto') localStorage.removeItem(place)
    else localStorage.setItem(place, choice)
  } catch {
    // Valid until the page is closed.
  }
}

function applyTheme(choice: Theme): void {
  document.documentElement.dataset.theme = choice
}

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(place)
    return kept === 'light' || kept === 'dark' ? kept : 'auto'
  } catch {
    return 'auto'
  }
}
