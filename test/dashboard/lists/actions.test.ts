/** What an action of the reader says if it fails: why, and what to do. */
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { countOf, expectShown, inPage, look } from '../../support/clients/shown.ts'
import { casesOf, isWhole } from '../../support/runner/depth.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('an action that does not reach the server', () => {
  const { server, visit } = useDashboard()
  const advice = "Can't reach the server. Try again."

  it('of a list says so, and keeps the focus', async () => {
    const { page } = await visit('deployments')
    await page.getByRole('row', { name: /hello/ }).getByRole('checkbox').check()
    await page.route('**/graphql', (route) => route.abort())
    const focused = inPage(page, () => document.activeElement?.textContent)
    await page.getByRole('button', { name: 'CSV' }).click()
    await page.locator('.exports').getByText(advice).waitFor()
    await expectShown(focused).toBe('CSV')
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('button', { name: 'Forget 1 deployment' }).click()
    await page.getByRole('dialog').getByText(advice).waitFor()
    await expectShown(focused).toBe('Forget 1 deployment')
  })

  it.each(casesOf(1, ['', 'device/edge-1', 'deployment/edge-1/hello']))(
    'as a repetition of /%s says that the page may be outdated, until it succeeds',
    async (address) => {
      const { page } = await visit(address)
      await page.locator('.hero').waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      await page.route('**/graphql', (route) => route.fulfill({ status: 503, body: '' }))
      const notice = page.getByRole('alert').getByText('The server does not answer, so this may be outdated.')
      // The changes of the present answer may not be followed yet.
      const change = async (): Promise<number> => {
        for (const state of ['failed', 'installed']) await send(server().url, 'edge-1', 'hello', state)
        return countOf(notice).take()
      }
      await expectShown(look(page, change)).toBe(1)
      await page.unroute('**/graphql')
      await notice.waitFor({ state: 'detached' })
    },
  )

  it.runIf(isWhole)('of the set-up says so', async () => {
    const created = await server().query(
      'mutation { createWebhook(input: { name: "hook", url: "https://example.com/hook" }) { __typename ... on UserError { message } } }',
    )
    expect(created.createWebhook).toEqual({ __typename: 'CreateWebhookSuccess' })
    const { page } = await visit('setup/notifications')
    await page.getByRole('button', { name: 'Pause hook' }).waitFor()
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('mutation') ? route.abort() : route.fallback(),
    )
    await page.getByRole('button', { name: 'Pause hook' }).click()
    await page.getByRole('status').getByText(advice).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('other')
    await page.getByLabel('Address').fill('https://example.com/')
    await page.getByRole('button', { name: 'Add Webhook' }).click()
    await page.getByRole('alert').getByText(advice).waitFor()
  })
})
