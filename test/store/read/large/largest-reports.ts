/** The largest that devices can have stored: reports with the longest errors, and labels. */
import { expect } from 'vitest'
import type { RunningApp } from '../../../support/servers/app.ts'

/** The largest errors that one report may have: five components, each with the longest message. */
export const report = (number: number, state: string) => ({
  deviceId: 'edge-1',
  deploymentId: `d-${number}`,
  status: { state, error: { code: 'E', message: 'failed' } },
  components: Array.from({ length: 5 }, (_, n) => ({
    name: `web-${n}`,
    state: 'failed',
    error: { code: 'E', message: String.fromCharCode(97 + n).repeat(65_000) },
  })),
})
/** The most components, each with the longest name and error that fit. */
export const componentsReport = (number: number, state: string) => ({
  deviceId: 'edge-1',
  deploymentId: `c-${number}`,
  status: { state, error: { code: 'E', message: 'failed' } },
  components: Array.from({ length: 1_000 }, (_, n) => ({
    name: `component-${n}`.padEnd(256, 'x'),
    state: 'failed',
    error: { code: 'E', message: 'x'.repeat(320) },
  })),
})
/** A deployment and five components. */
export const changesEach = 6
/** Characters of JSON of such a deployment. */
export const largeDeployment = 5 * 65_000

export async function fill(post: RunningApp['post'], count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const path = `/device/edge-1/deployment/d-${number}/status`
    expect((await post(path, report(number, 'failed'))).status).toBe(201)
  }
}

/** Small changes of the same deployments, which end their attempts: what is read about each is large. */
export async function changeAll(post: RunningApp['post'], count: number): Promise<void> {
  for (let change = 0; change < 2 * count; change += 1) {
    const [number, state] = [change >> 1, change % 2 === 0 ? 'installing' : 'failed']
    const path = `/device/edge-1/deployment/d-${number}/status`
    expect((await post(path, report(number, state))).status).toBe(201)
  }
}

/** A hundred labels with the longest names and values, of three bytes a character. */
export const labels = Array.from({ length: 100 }, (_, n) => ({
  key: `${n}`.padEnd(256, '€'),
  value: '€'.repeat(256),
}))
