/** Ends a run of the deep suite when its time is over: what runs is waited for, what has not begun is left out, and is said. */
import type { Reporter, Vitest } from 'vitest/node'

export function endWhen(timeIsOver: Promise<unknown>): Reporter {
  let vitest: Vitest | null = null
  let isOver = false
  const end = (): void => void vitest?.cancelCurrentRun('keyboard-input')
  timeIsOver.then(() => {
    isOver = true
    end()
  })
  return {
    onTestRunStart() {
      if (isOver) end()
    },
    onInit(started) {
      vitest = started
    },
    onTestRunEnd(modules) {
      if (!isOver) return
      const reached = modules.filter((module) => module.state() === 'passed' || module.state() === 'failed')
      console.log(`the time is over: ${modules.length - reached.length} files were not reached`)
    },
  }
}
