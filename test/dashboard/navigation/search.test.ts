import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { countOf, expectNone, expectShown, inputOf, urlOf } from '../../support/clients/shown.ts'
import { casesOf } from '../../support/runner/depth.ts'
import { holdAnswers, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the search of the dashboard', () => {
  const { server, visit } = useDashboard()

  it.each(casesOf(1, [1440, 768, 375]))('finds what has a name, by keyboard alone, %i pixels wide', async (width) => {
    await send(server().url, 'kettle-1', 'tea', 'installed')
    const { page, complaints } = await visit('feed')
    await page.setViewportSize({ width, height: 900 })
    await page.getByRole('button', { name: 'Search' }).waitFor()
    const field = page.getByRole('combobox', { name: 'Search the fleet' })
    await page.keyboard.press('Control+k')
    await field.waitFor()
    await page.keyboard.type('kett')
    await page.getByRole('option', { name: /Device kettle-1/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'kettle-1' }).waitFor()
    await expectShown(urlOf(page)).toBe(`${server().url}/device/kettle-1`)

    await page.getByRole('button', { name: 'Search' }).click()
    // The text of the last search is gone.
    await expectShown(inputOf(field)).toBe('')
    await field.fill('tea')
    await page.getByRole('option', { name: /Deployment tea on kettle-1/ }).click()
    await page.getByRole('heading', { name: 'tea on kettle-1' }).waitFor()
    await page.keyboard.press('/')
    await field.waitFor()
    await field.fill('nothing like that')
    await page.getByText('Nothing has a name like this.').waitFor()
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('says nothing of the last text under the next one, and keeps no other result chosen', async () => {
    const { page } = await visit('feed')
    await page.getByRole('button', { name: 'Search' }).click()
    const field = page.getByRole('combobox', { name: 'Search the fleet' })
    const none = page.getByText('Nothing has a name like this.')
    await field.fill('nothing like that')
    await none.waitFor()
    const release = await holdAnswers(page, /query Search\b/)
    await field.fill('edge')
    await none.waitFor({ state: 'detached' })
    await release()
    await page.getByRole('option', { name: /Device edge-1/ }).waitFor()
    const releaseNext = await holdAnswers(page, /query Search\b/)
    const asked = page.waitForRequest((request) => request.postData()?.includes('"other"') ?? false)
    await field.fill('other')
    await asked
    await page.keyboard.press('ArrowDown')
    await expectShown(countOf(page.locator('[aria-selected=true]'))).toBe(1)
    await releaseNext()
    // Enter opens no result that was not chosen.
    await expectNone(page.locator('[aria-selected=true]'), page.getByRole('option', { name: /Deployment other/ }))
  })
})
