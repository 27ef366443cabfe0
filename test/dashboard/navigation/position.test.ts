/** Where a reader is after going back, forward to a link, or loading the page again. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectShown, inPage, isVisible, type Look, look, readStill, urlOf } from '../../support/clients/shown.ts'
import { casesOf } from '../../support/runner/depth.ts'
import { useDashboard } from '../harness.ts'

const topOf = (page: Page): Look<number> => inPage(page, () => scrollY)

describe.runIf(findChromium())('the position on a page', () => {
  const { server, visit } = useDashboard()

  beforeAll(async () => {
    const deployments = Array.from({ length: 400 }, (_, index) => ({
      deviceId: `m-${index}`,
      deploymentId: `many-${1_000 + index}`,
    }))
    await server().query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "many" }, deployments: $deployments }) { __typename }
      }`,
      { deployments },
    )
  })

  /** Far below what the first request loads. */
  async function scrollTo(page: Page, name: string) {
    const row = page.getByRole('row', { name })
    const scroll = async (): Promise<boolean> => {
      await page.mouse.wheel(0, 700)
      return isVisible(row).take()
    }
    await expectShown(look(page, scroll)).toBe(true)
    const link = row.getByRole('link').first()
    await link.scrollIntoViewIfNeeded()
    return { link, at: await readStill(topOf(page)) }
  }

  it.each(casesOf(1, ['deployments?text=many&order=NAME', 'ROLLOUT?order=NAME']))(
    'is kept when the reader returns to %s, with the filters and the focus',
    async (address) => {
      const { rollouts } = await server().query('{ rollouts(filter: { text: "many" }) { nodes { id kind } } }')
      const id = rollouts.nodes.find(({ kind }: { readonly kind: string }) => kind === 'DECLARED').id
      const list = address.replace('ROLLOUT', `rollout/${encodeURIComponent(id)}`)
      const { page, complaints } = await visit(list)
      await page.locator('.table .row').first().waitFor()
      const { link, at } = await scrollTo(page, 'many-1350')
      expect(at).toBeGreaterThan(5_000)
      await link.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: /^many-1350 on/ }).waitFor()
      await expectShown(topOf(page)).toBe(0)
      // On a slow line the rows come long after the page.
      await page.route('**/graphql', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        await route.continue().catch(() => undefined)
      })
      await page.goBack()
      await link.and(page.locator(':focus')).waitFor()
      await expectShown(urlOf(page)).toBe(`${server().url}/${list}`)
      await expectShown(topOf(page)).toBeCloseTo(at, -1)
      await page.unroute('**/graphql')
      await page.reload()
      await expectShown(topOf(page)).toBeCloseTo(at, -1)
      // From then on, the reader scrolls.
      await page.keyboard.press('Home')
      await expectShown(topOf(page)).toBe(0)
      expect(complaints).toEqual([])
    },
  )
})
