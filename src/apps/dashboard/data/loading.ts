/** What the page says until the answer about the chosen time, or to another question, arrives: a state of the past may take seconds. */
import { computed, type Signal, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { at } from '../route.ts'
import { formatTime } from './time.ts'

/** The number of answers about the past that are under way. */
const loading = signal(0)
/** The number of answers on the page to a question that is no longer asked. */
const outdated = signal(0)

export const isLoadingPast = (): boolean => loading.value > 0

/** Whether the page shows the answer to another question: of another time, or with other filters. */
export const isOutdated = computed(() => outdated.value > 0)

/** The number of answers on the page that could not be repeated after a change. */
const failing = signal(0)

/** Whether the page may show what is no longer true, although it is connected. */
export const isFailing = computed(() => failing.value > 0)

/** `isLoading`: there is neither an answer to the question nor an error yet. */
export const useLoading = (isLoading: boolean): void => useCounted(loading, isLoading && at.value !== null)

export const useFailing = (is: boolean): void => useCounted(failing, is)

export const useOutdated = (is: boolean): void => useCounted(outdated, is)

/** Before the page is drawn, so that it shows nothing untrue in between. */
function useCounted(counter: Signal<number>, isCounted: boolean): void {
  useLayoutEffect(() => {
    if (!isCounted) return
    counter.value += 1
    return () => {
      counter.value -= 1
    }
  }, [isCounted])
}

/** `Loading the state at 00:49:28…` */
export const describeLoading = (): string =>
  at.value === null ? 'Loading…' : `Loading the state at ${formatTime(at.value)}…`
