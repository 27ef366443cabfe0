/** Ends a run of the deep suite when its time is over: what runs is waited for, what has not begun is left out, and is said. */
import type { Reporter, Vitest } from 'vitest/node'

export function endAt(time: number): Reporter {
  let vitest: Vitest | null = null
  let timer: NodeJS.Timeout | null = null
  let isOver = false
  return {
    onInit(started) {
      vitest = started
    },
    onTestRunStart() {
      timer = setTimeout(() => {
        isOver = true
        void vitest?.cancelCurrentRun('keyboard-input')
      }, time - Date.now())
    },
    onTestRunEnd(modules) {
      if (timer) clearTimeout(timer)
      if (!isOver) return
      const reached = modules.filter((module) => module.state() === 'passed' || module.state() === 'failed')
      console.log(`the time is over: ${modules.length - reached.length} files were not reached`)
    },
  }
}
