import { readdirSync, readFileSync } from 'node:fs'
import { parseJson } from '../../../src/platform/body/json.ts'

const folder = new URL('../../fixtures/margo/', import.meta.url)

export const fixtureNames = readdirSync(folder).map((file) => file.replace(/\.json$/, ''))

export function readFixture(name: string): Record<string, unknown> {
  return parseJson(readFileSync(new URL(`${name}.json`, folder))) as Record<string, unknown>
}

/** A route that lets the body speak for itself. */
export const anyRoute = { deploymentId: null, reporter: 'edge-7', requiresVersion: false } as const

/** The smallest body there is. */
export const smallest = { deploymentId: 'pump-control', status: { state: 'installed' }, components: [] } as const
