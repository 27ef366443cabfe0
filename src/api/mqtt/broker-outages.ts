/**
 * Log entries about the connections to the broker: a line when one is lost, and one when it is there again. A broker that accepts connections and ends
 * them would cause both without end, so after some brief connections only one that lasts is there again. The pauses grow meanwhile.
 */
import type { Log } from '../../platform/log/log.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'

export interface BrokerOutages {
  connected(session: string): void
  /** Milliseconds until the next connection. */
  closed(session: string): number
  /** `facts`: what else the line has. */
  lost(session: string, text: string, facts: object): void
}

interface State {
  isAway: boolean
  /** Consecutive connections that did not last. */
  brief: number
  since: number | null
  timer?: NodeJS.Timeout
}

/** Brief connections that are logged. */
const mostBrief = 3

export function createBrokerOutages(log: Pick<Log, 'info' | 'warn'>, backOff: BackOff, steady = 5_000): BrokerOutages {
  const states = new Map<string, State>()

  function stateOf(session: string): State {
    const state = states.get(session) ?? { isAway: false, brief: 0, since: null }
    states.set(session, state)
    return state
  }

  return {
    connected(session) {
      const state = stateOf(session)
      const say = (): void => {
        state.isAway = false
        log.info({ session }, 'connected to the MQTT broker')
      }
      state.since = performance.now()
      if (state.brief < mostBrief) say()
      else state.timer = setTimeout(say, steady).unref()
    },
    closed(session) {
      const state = stateOf(session)
      clearTimeout(state.timer)
      if (state.since !== null) state.brief = performance.now() - state.since < steady ? state.brief + 1 : 0
      state.since = null
      return pauseAfter(backOff, state.brief)
    },
    lost(session, text, facts) {
      const state = stateOf(session)
      if (!state.isAway) log.warn({ session, ...facts }, text)
      state.isAway = true
    },
  }
}
