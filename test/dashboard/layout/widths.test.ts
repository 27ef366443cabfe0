/** What narrow windows show of that for which wide ones have room. */
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { send, useDashboard } from '../harness.ts'

// Skipped only where there is no browser; ROLLCALL_REQUIRE_CHROMIUM=1 turns its absence into a failure.
describe.runIf(findChromium())('the dashboard in narrow windows', () => {
  const { server, visit } = useDashboard()
  const lists = ['deployments', 'devices', 'rollouts', 'resources', 'feed']

  beforeAll(async () => {
    await server().query(`mutation {
      saveAlertRule(input: { name: "any failure", metric: FAILED, threshold: 1 }) { __typename }
      declareDeployments(input: { rollout: { name: "vision" }, deployments: [
        { deviceId: "gateway-29", deploymentId: "vision-1", application: "vision-inspect", applicationVersion: "1.0" }
      ] }) { __typename }
    }`)
    const error = { code: '507', message: 'the disk is full, and so is the other one' }
    await send(server().url, 'gateway-29', 'vision-1', 'failed', error)
  })

  it('shows on a phone the filters that are set, and the others when asked', async () => {
    const { page, complaints } = await visit('deployments')
    await page.setViewportSize({ width: 375, height: 800 })
    const [filters, installed, failed] = ['Filters', 'Installed', 'Failed'].map((name) =>
      page.getByRole('search').getByRole('button', { name, exact: true }),
    )
    if (!filters || !installed || !failed) return expect.unreachable()
    for (const list of lists) {
      await page.goto(`${server().url}/${list}`)
      await filters.waitFor()
      expect({ list, buttons: await page.getByRole('search').getByRole('button').count() }).toEqual({
        list,
        buttons: 1,
      })
      expect(await page.getByRole('search').getByRole('combobox').count()).toBe(0)
    }
    await page.goto(`${server().url}/deployments?state=FAILED&order=NAME`)
    await failed.waitFor()
    expect(await page.getByLabel('Order').isVisible()).toBe(true)
    expect(await installed.isVisible()).toBe(false)
    await filters.click()
    await installed.click()
    await filters.click()
    await failed.click()
    await failed.waitFor({ state: 'hidden' })
    expect(page.url()).toBe(`${server().url}/deployments?order=NAME&state=INSTALLED`)
    expect(await installed.isVisible()).toBe(true)
    await page.setViewportSize({ width: 1440, height: 800 })
    await failed.waitFor()
    expect(await filters.isVisible()).toBe(false)
    expect(complaints).toEqual([])
  })

  it('offers first not to filter by when devices were heard', async () => {
    const { page } = await visit('devices')
    const options = page.getByLabel('Heard').getByRole('option')
    expect((await options.allInnerTexts())[0]).toBe('Any time')
  })

  it.each([1440, 768, 390, 360])('shows the number of alerts whole, %i pixels wide', async (width) => {
    const { page } = await visit('')
    await page.setViewportSize({ width, height: 800 })
    const badge = page.getByTitle('1 alert')
    await badge.waitFor()
    const [top, edge] = await badge.evaluate((element) => [
      element.getBoundingClientRect().top,
      element.closest('nav')?.getBoundingClientRect().top ?? 0,
    ])
    // Beyond the edges of what scrolls nothing is seen. On a wide window the links do not scroll.
    if (width < 700) expect(top).toBeGreaterThanOrEqual(edge ?? 0)
    expect(top).toBeGreaterThanOrEqual(0)
    const covers = await badge.evaluate((element) => {
      const letters = document.createRange()
      letters.selectNode(element.previousSibling ?? element)
      const [number, word] = [element.getBoundingClientRect(), letters.getBoundingClientRect()]
      return number.left < word.right && number.bottom > word.top
    })
    expect(covers).toBe(false)
  })

  it('shows on a phone the names of the feed and the values of a report whole', async () => {
    const [device, deployment] = ['gateway-29-of-the-northern-hall', 'inspection-of-the-northern-line']
    await send(server().url, device, deployment, 'failed')
    const { page, complaints } = await visit('feed')
    await page.setViewportSize({ width: 390, height: 844 })
    const name = page.getByRole('link', { name: deployment }).first()
    await name.waitFor()
    const isCut = (element: Element): boolean => element.scrollWidth > element.clientWidth + 1
    for (const part of [name, page.locator('.whose', { hasText: device }).first()])
      expect(await part.evaluate(isCut)).toBe(false)
    await name.click()
    const report = page.getByRole('region', { name: 'Reports' }).last().getByRole('row').last()
    expect(await report.evaluate(isCut)).toBe(false)
    const titles = await report.evaluate((row) =>
      [...row.children].map((cell) => getComputedStyle(cell, '::before').content.replaceAll('"', '').trim()),
    )
    expect(titles).toEqual(['Received', "Reporter's clock", 'none', 'Verdict', 'Sequence', 'Dialect'])
    expect(complaints).toEqual([])
  })

  it('shows on a phone why a component failed, in several lines', async () => {
    const message =
      'the package could not be unpacked: there is no space left on the device, and no package that may go'
    const component = { name: 'web', state: 'failed', error: { code: '507', message } }
    await send(server().url, 'gateway-30', 'unpacked', 'failed', component.error, undefined, [component])
    const { page } = await visit('deployment/gateway-30/unpacked')
    await page.setViewportSize({ width: 390, height: 844 })
    const line = page.getByRole('region', { name: 'Components' }).locator('.message summary')
    await expect
      .poll(() => line.evaluate(({ scrollHeight, clientHeight }) => [clientHeight > 30, scrollHeight <= clientHeight]))
      .toEqual([true, true])
  })

  it.each([1440, 1000, 768])('has room for what failed, where and why, %i pixels wide', async (width) => {
    const { page } = await visit('deployments?text=vision')
    await page.setViewportSize({ width, height: 800 })
    const row = page.getByRole('row', { name: /gateway-29/ })
    await row.waitFor()
    const cut = await row.evaluate((element) =>
      [...element.querySelectorAll<HTMLElement>('.main a > .name > span, .where span, .why')]
        .filter((part) => !part.classList.contains('unseen') && part.scrollWidth > part.clientWidth)
        .map((part) => part.textContent),
    )
    expect(cut).toEqual([])
    await page.getByRole('columnheader', { name: 'State' }).waitFor({ state: 'attached' })
    const heads = await page
      .getByRole('columnheader')
      .evaluateAll((all) => all.filter(({ clientHeight }) => clientHeight > 20).map(({ textContent }) => textContent))
    expect(heads).toEqual([])
  })
})
