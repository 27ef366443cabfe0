/** The width of the window, and the chosen colour theme. */
import { signal } from '@preact/signals'

function watchWidth(most: number) {
  const media = matchMedia(`(max-width: ${most}px)`)
  const matches = signal(media.matches)
  media.addEventListener('change', () => {
    matches.value = media.matches
  })
  return matches
}

const [narrow, medium] = [watchWidth(700), watchWidth(1_000)]

/** As in the style sheets. */
export const useIsNarrow = (): boolean => narrow.value

/** Narrow, or as wide as a tablet. */
export const useIsMedium = (): boolean => medium.value

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
