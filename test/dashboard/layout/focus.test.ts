/** Where the focus is after an action that removes its own control. */
import type { Page } from 'playwright-core'
import { describe, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { doInElement, doInPage, expectShown, inPage } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { minute, send, useDashboard } from '../harness.ts'

describe.runIf(isWhole && findChromium())('the focus', () => {
  const { server, visit } = useDashboard()
  const before = (time: number): string => new Date(Date.now() - time).toISOString()
  const focused = (page: Page) =>
    inPage(page, () => {
      const { tagName, textContent } = document.activeElement ?? document.body
      return ['A', 'BUTTON'].includes(tagName) ? (textContent ?? '') : tagName
    })

  it.each(['', 'deployments', 'device/edge-1'])('of /%s is in the page after "Back to now"', async (address) => {
    const { page } = await visit(`${address}?at=${before(minute)}`)
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).focus()
    await page.keyboard.press('Enter')
    await expectShown(focused(page)).toBe('MAIN')
    await page.keyboard.press('Tab')
    await expectShown(inPage(page, () => document.activeElement?.closest('main') !== null)).toBe(true)
  })

  it('is in the list after "Back to now" where there is no history', async () => {
    const { page } = await visit(`deployments?at=${before(60 * minute)}`)
    const button = page.getByRole('main').getByRole('button', { name: 'Back to now' })
    await button.focus()
    await page.keyboard.press('Enter')
    await button.waitFor({ state: 'detached' })
    await expectShown(focused(page)).toBe('SECTION')
  })

  it('is in the list after its selection is cleared', async () => {
    const { page } = await visit('deployments')
    await page.getByRole('row', { name: /hello/ }).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Clear' }).focus()
    await page.keyboard.press('Enter')
    await expectShown(focused(page)).toBe('SECTION')
  })

  it('is in the list after an action that empties it', async () => {
    const { page } = await visit('deployments')
    await send(server().url, 'edge-3', 'old', 'removed')
    await page.goto(`${server().url}/deployments?state=REMOVED`)
    const row = page.getByRole('row', { name: /old/ })
    await row.getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('button', { name: 'Forget 1 deployment' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expectShown(focused(page)).toBe('SECTION')
  })

  it('stays on a row that moves', async () => {
    const { page } = await visit('deployments')
    const link = page.getByRole('row', { name: /hello/ }).getByRole('link', { name: 'hello' }).first()
    await page.getByRole('row', { name: /other/ }).waitFor()
    await send(server().url, 'edge-2', 'other', 'installing')
    await page.getByRole('button', { name: /Sort again/ }).waitFor()
    await link.focus()
    // As assistive technology does it: without the focus.
    await doInElement(page.getByRole('button', { name: /Sort again/ }), (button: HTMLElement) => button.click())
    await page.getByRole('button', { name: /Sort again/ }).waitFor({ state: 'detached' })
    await expectShown(focused(page)).toContain('hello')
  })

  it('stays nowhere if the reader has left the control', async () => {
    const { page } = await visit(`deployments?at=${before(minute)}`)
    const button = page.getByRole('button', { name: 'Back to now' })
    await button.focus()
    await doInPage(page, () => (document.activeElement as HTMLElement).blur())
    await doInPage(page, () => new Promise((resolve) => setTimeout(resolve)))
    await doInElement(button, (element: HTMLElement) => element.click())
    await button.waitFor({ state: 'detached' })
    await expectShown(focused(page)).toBe('BODY')
  })
})
