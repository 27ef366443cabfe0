/** What the page says until the first answer about the chosen time arrives: a state of the past may take seconds. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { at } from '../route.ts'
import { formatTime } from './time.ts'

/** The number of first answers about the past that are under way. */
const loading = signal(0)

export const isLoadingPast = (): boolean => loading.value > 0

/** `isLoading`: there is neither an answer nor an error yet. */
export function useLoading(isLoading: boolean): void {
  const isPast = isLoading && at.value !== null
  useEffect(() => {
    if (!isPast) return
    loading.value += 1
    return () => {
      loading.value -= 1
    }
  }, [isPast])
}

/** `Loading the state at 00:49:28…` */
export const describeLoading = (): string =>
  at.value === null ? 'Loading…' : `Loading the state at ${formatTime(at.value)}…`
