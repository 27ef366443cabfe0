/** Devices that report state after state, each until it is acknowledged: what a fault may cost them is time. */
import type { ReportOutcome, StatusReport } from '../../../src/domain/report.ts'
import { report } from './reports.ts'

/** The answer; null: none, or "not now". */
export type Send = (report: StatusReport) => Promise<ReportOutcome | null>

export interface Played {
  readonly reporter: string
  /** In the order of their sequence numbers, from 1. */
  readonly outcomes: readonly ReportOutcome[]
}

export interface Fleet {
  /** So far, of all devices together; throws what a device met that it should not have. */
  readonly acknowledged: number
  readonly unanswered: number
  /** Every device finishes the report it is at. */
  finish(): Promise<readonly Played[]>
}

/** INSTALLING, INSTALLED, and so on: every report changes something, and every second one is another attempt. */
export function stateOf(seq: number): 'INSTALLING' | 'INSTALLED' {
  return seq % 2 === 1 ? 'INSTALLING' : 'INSTALLED'
}

export function attemptOf(seq: number): number {
  return Math.ceil(seq / 2)
}

export function startFleet(size: number, send: (device: number) => Send): Fleet {
  let acknowledged = 0
  let unanswered = 0
  let isOver = false
  let failure: unknown = null

  async function play(device: number): Promise<Played> {
    const reporter = `edge-${device}`
    const outcomes: ReportOutcome[] = []
    do {
      const seq = outcomes.length + 1
      const state = stateOf(seq)
      const components = [{ name: 'web', state, error: null }]
      const said = report({ reporter, deploymentId: `of-${reporter}`, state, components, seq: `${seq}`, boot: 'b' })
      let outcome = await send(device)(said)
      while (!outcome) {
        unanswered += 1
        await new Promise((resolve) => setTimeout(resolve, 20))
        outcome = await send(device)(said)
      }
      acknowledged += 1
      outcomes.push(outcome)
    } while (!isOver)
    return { reporter, outcomes }
  }

  const playing = Promise.all(Array.from({ length: size }, (_, device) => play(device)))
  playing.catch((error: unknown) => {
    failure = error
  })
  return {
    get acknowledged() {
      if (failure) throw failure
      return acknowledged
    },
    get unanswered() {
      return unanswered
    },
    finish() {
      isOver = true
      return playing
    },
  }
}
