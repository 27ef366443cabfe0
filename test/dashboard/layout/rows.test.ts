/** The rows of lists at every width: no value is cut or hidden, and none moves another. */
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  expectShown,
  expectStill,
  inElement,
  inElements,
  inPage,
  isVisible,
  readStill,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { usePouringFleet, widths } from '../pouring.ts'

describe.runIf(isWhole && findChromium())('rows of the dashboard', () => {
  const { server, visit, addressOf } = usePouringFleet()

  it('says what people changed last, and why', async () => {
    const { page } = await visit('')
    const declaration = page.getByRole('region', { name: 'What changed last' }).getByRole('listitem')
    await declaration.filter({ hasText: /^Declaration.*meant\s*“?the first version/ }).waitFor()
    await declaration.first().getByRole('link').click()
    await page.getByRole('heading', { name: /^meant/ }).waitFor()
  })

  it.each(widths)('hides no value of a list, %i pixels wide', async (width) => {
    const { page } = await visit('devices')
    await page.setViewportSize({ width, height: 900 })
    const cut = inPage(page, () =>
      [...document.querySelectorAll<HTMLElement>('.row .label, .row .where, .row .when, .row .mark, .row .share')]
        .filter((element) => element.offsetParent === null || element.scrollWidth > element.clientWidth + 1)
        .map((element) => element.outerHTML),
    )
    await page
      .getByRole('row', { name: /oven-3\b/ })
      .getByText('site: munich')
      .waitFor()
    await expectStill(cut).toEqual([])
    for (const list of ['deployments?text=vision', 'rollouts']) {
      await page.goto(`${server().url}/${list}`)
      await page
        .getByText(/^vision/)
        .first()
        .waitFor()
      await expectStill(cut, list).toEqual([])
    }
    // What the list says on a wide screen, it says on a phone.
    await page.goto(`${server().url}/deployments?text=meant`)
    const row = page.getByRole('row', { name: /meant/ })
    await row.waitFor()
    for (const part of ['.version', '.when', '.where', '.state'])
      await expectShown(isVisible(row.locator(part))).toBe(true)
  })

  it('has each column of a list below its head', async () => {
    // A version of ten digits: its column is as wide as they are.
    const report = { deploymentId: 'meant', adoptedManifestVersion: 1_234_567_890, status: { state: 'pending' } }
    await server().post('/device/oven-0/deployment/meant/status', { ...report, components: [] })
    const { page } = await visit('devices')
    for (const list of ['deployments', 'devices', 'resources']) {
      await page.goto(`${server().url}/${list}`)
      await page.locator('.table .row').first().waitFor()
      const begins = inElements(page.locator('.table .head, .table .row'), (lines) =>
        lines.map((line) => [...line.children].map((cell) => Math.round(cell.getBoundingClientRect().x))),
      )
      const [head, row] = await readStill(begins)
      expect({ list, head }).toEqual({ list, head: row })
    }
  })

  it.each([1440, 375])('moves nothing of a row when its age gets longer, %i pixels wide', async (width) => {
    const { page } = await visit('devices')
    await page.setViewportSize({ width, height: 900 })
    for (const list of ['devices', 'deployments', 'resources']) {
      await page.goto(`${server().url}/${list}`)
      await page.locator('.row .when time').first().waitFor()
      const moved = inPage(page, () =>
        [...document.querySelectorAll('.row:has(.when time)')].flatMap((row) => {
          const places = ['now', '59 min ago'].map((age) => {
            row.querySelector('.when time')?.replaceChildren(age)
            return [...row.children].map(
              (cell) => `${cell.getBoundingClientRect().x} ${cell.getBoundingClientRect().y}`,
            )
          })
          return places[0]?.join() === places[1]?.join() ? [] : [places]
        }),
      )
      await expectStill(moved, list).toEqual([])
    }
  })

  it('moves nothing when the share of a rollout gets longer', async () => {
    const { page } = await visit(addressOf('rollout/GROUP'))
    await page.setViewportSize({ width: 375, height: 900 })
    const share = page.locator('.hero .share')
    await share.waitFor()
    const places = inElement(share, (element) =>
      ['0 %', '50 %', '100 %'].map((text) => {
        element.replaceChildren(text)
        return element.getBoundingClientRect().x
      }),
    )
    await expectStill(places).toSatisfy((all: number[]) => new Set(all).size === 1)
  })
})
