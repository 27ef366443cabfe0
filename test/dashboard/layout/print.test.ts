/** A page on paper. */
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  countOf,
  expectShown,
  inElements,
  inputOf,
  isVisible,
  readStill,
  textsOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { useDashboard } from '../harness.ts'

describe.runIf(isWhole && findChromium())('a printed page', () => {
  const { server, visit } = useDashboard()

  beforeAll(async () => {
    const deployments = Array.from({ length: 60 }, (_, index) => ({
      deviceId: `p-${index}`,
      deploymentId: `printed-${100 + index}`,
    }))
    await server().query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "paper" }, deployments: $deployments }) { __typename }
      }`,
      { deployments },
    )
  })

  it('has every row that is loaded, one below the other, the filters that are set, and nothing to press', async () => {
    const { page, complaints } = await visit('deployments?text=printed&order=NAME&state=PENDING')
    const rows = page.locator('.rows > .row')
    await rows.first().waitFor()
    await expectShown(countOf(rows)).toBeLessThan(60)
    await page.emulateMedia({ media: 'print' })
    await expectShown(countOf(rows)).toBe(60)
    const edges = await readStill(
      inElements(rows, (all) =>
        all.map((row) => {
          const { top, bottom } = row.getBoundingClientRect()
          return [top, bottom] as const
        }),
      ),
    )
    expect(edges).toHaveLength(60)
    for (const [index, [top]] of edges.entries()) expect(top).toBeGreaterThanOrEqual((edges[index - 1]?.[1] ?? 0) - 1)
    for (const part of ['.time-bar', '.top nav', '.exports', '.filters .order'])
      await expectShown(isVisible(page.locator(part).first()), part).toBe(false)
    const buttons = page.getByRole('main').getByRole('button')
    await expectShown(textsOf(buttons)).toEqual(['Pending'])
    await expectShown(inputOf(page.getByRole('main').getByRole('searchbox'))).toBe('printed')
    await page.emulateMedia({ media: null })
    await expectShown(countOf(rows)).toBeLessThan(60)
    expect(complaints).toEqual([])
  })

  it('of the past says when that was, and in which zone', async () => {
    const { page } = await visit(`deployments?at=${new Date().toISOString()}`)
    await page.emulateMedia({ media: 'print' })
    await page.getByText(/^Showing the state at \d\d:\d\d:\d\d UTC/).waitFor()
  })
})
