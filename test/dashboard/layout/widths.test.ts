/** What narrow windows show of that for which wide ones have room. */
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  countOf,
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inElements,
  isVisible,
  readStill,
  textOf,
  urlOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(isWhole && findChromium())('the dashboard in narrow windows', () => {
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
      await expectShown(countOf(page.getByRole('search').getByRole('button')), list).toBe(1)
      await expectNone(page.getByRole('search').getByRole('combobox'), filters)
    }
    await page.goto(`${server().url}/deployments?state=FAILED&order=NAME`)
    await failed.waitFor()
    await expectShown(isVisible(page.getByLabel('Order'))).toBe(true)
    await expectShown(isVisible(installed)).toBe(false)
    await filters.click()
    await installed.click()
    await filters.click()
    await failed.click()
    await failed.waitFor({ state: 'hidden' })
    await expectShown(urlOf(page)).toBe(`${server().url}/deployments?order=NAME&state=INSTALLED`)
    await expectShown(isVisible(installed)).toBe(true)
    await page.setViewportSize({ width: 1440, height: 800 })
    await failed.waitFor()
    await expectShown(isVisible(filters)).toBe(false)
    expect(complaints).toEqual([])
  })

  it('offers first not to filter by when devices were heard', async () => {
    const { page } = await visit('devices')
    const first = page.getByLabel('Heard').getByRole('option').first()
    await expectShown(textOf(first)).toBe('Any time')
  })

  it.each([1440, 768, 390, 360])('shows the number of alerts whole, %i pixels wide', async (width) => {
    const { page } = await visit('')
    await page.setViewportSize({ width, height: 800 })
    const badge = page.getByTitle('1 alert')
    await badge.waitFor()
    const edges = inElement(badge, (element) => [
      element.getBoundingClientRect().top,
      element.closest('nav')?.getBoundingClientRect().top ?? 0,
    ])
    const [top, edge] = await readStill(edges)
    // Beyond the edges of what scrolls nothing is seen. On a wide window the links do not scroll.
    if (width < 700) expect(top).toBeGreaterThanOrEqual(edge ?? 0)
    expect(top).toBeGreaterThanOrEqual(0)
    const covers = inElement(badge, (element) => {
      const letters = document.createRange()
      letters.selectNode(element.previousSibling ?? element)
      const [number, word] = [element.getBoundingClientRect(), letters.getBoundingClientRect()]
      return number.left < word.right && number.bottom > word.top
    })
    await expectStill(covers).toBe(false)
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
      await expectStill(inElement(part, isCut)).toBe(false)
    await name.click()
    const report = page.getByRole('region', { name: 'Reports' }).last().getByRole('row').last()
    await expectStill(inElement(report, isCut)).toBe(false)
    const titles = inElement(report, (row) =>
      [...row.children].map((cell) => getComputedStyle(cell, '::before').content.replaceAll('"', '').trim()),
    )
    await expectShown(titles).toEqual(['Received', "Reporter's clock", 'none', 'Verdict', 'Sequence', 'Dialect'])
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
    await expectStill(
      inElement(line, ({ scrollHeight, clientHeight }) => [clientHeight > 30, scrollHeight <= clientHeight]),
    ).toEqual([true, true])
  })

  it.each([1440, 1000, 768])('has room for what failed, where and why, %i pixels wide', async (width) => {
    const { page } = await visit('deployments?text=vision')
    await page.setViewportSize({ width, height: 800 })
    const row = page.getByRole('row', { name: /gateway-29/ })
    await row.waitFor()
    const cut = inElement(row, (element) =>
      [...element.querySelectorAll<HTMLElement>('.main a > .name > span, .where span, .why')]
        .filter((part) => !part.classList.contains('unseen') && part.scrollWidth > part.clientWidth)
        .map((part) => part.textContent),
    )
    await expectStill(cut).toEqual([])
    await page.getByRole('columnheader', { name: 'State' }).waitFor({ state: 'attached' })
    const heads = inElements(page.getByRole('columnheader'), (all) =>
      all.filter(({ clientHeight }) => clientHeight > 20).map(({ textContent }) => textContent),
    )
    await expectStill(heads).toEqual([])
  })
})
