/** Names, labels and messages of any length: nothing leaves its panel, and nothing takes the screen from the rest. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  boxOf,
  doInElement,
  expectShown,
  expectStill,
  inElement,
  inElements,
  inPage,
  readStill,
  textOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { send, useDashboard } from '../harness.ts'

const long = 'with-a-very-long-name-'.repeat(8).slice(0, 170)
const words = 'which is called so in hall seven '.repeat(6).trim()
const trace = `IllegalStateException: ${'nested exception is '.repeat(60)}`

describe.runIf(isWhole && findChromium())('awkward text on the dashboard', () => {
  const { server, visit } = useDashboard()
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    const labels = Array.from({ length: 5 }, (_, index) => ({ key: `label-${index}`, value: 'x'.repeat(120) }))
    const { declareDeployments } = await server().query(
      `mutation ($name: String!, $labels: [LabelInput!]) {
        saveAlertRule(input: { name: "${words}", metric: FAILED, threshold: 1 }) { __typename }
        registerDevices(input: { devices: [{ deviceId: "edge-${long}", name: $name, labels: $labels }] }) { __typename }
        declareDeployments(input: { rollout: { name: "web" }, deployments: [
          { deviceId: "edge-5", deploymentId: "web-5", components: ["front", "back"] }
        ] }) { ... on DeclareDeploymentsSuccess { rollout { id } } }
      }`,
      { name: `Oven ${words}`, labels },
    )
    ids.ROLLOUT = declareDeployments.rollout.id
    await send(server().url, `edge-${long}`, `app-${long}`, 'failed', { code: 'E'.repeat(120), message: trace })
  })

  /** What is drawn beyond the right edge of its panel, and is not scrolled to. */
  const outside = (page: Page) =>
    inElements(page.locator('main :is(.panel, .hero) *'), (elements) =>
      elements
        .filter((element) => {
          const edge = element.closest('.panel, .hero')?.getBoundingClientRect().right ?? 0
          if (element.getBoundingClientRect().right <= edge + 1) return false
          let parent = element.parentElement
          while (parent && !parent.matches('.panel, .hero')) {
            if (getComputedStyle(parent).overflowX !== 'visible') return false
            parent = parent.parentElement
          }
          return true
        })
        .map((element) => element.outerHTML.slice(0, 200)),
    )

  it.each([1440, 390])('stays in its panel, %i pixels wide', async (width) => {
    const { page, complaints } = await visit('')
    await page.setViewportSize({ width, height: 800 })
    for (const [address, drawn] of [
      ['', '.causes .mark >> text=which is called'],
      [`deployment/edge-${long}/app-${long}`, '.changes li'],
      [`device/edge-${long}`, '.changes li'],
      ['devices', '.devices .row'],
      ['feed', '.feed .row'],
    ] as const) {
      await page.goto(`${server().url}/${address}`)
      await page.locator(drawn).first().waitFor()
      await expectStill(outside(page), address).toEqual([])
      const high = inElements(page.locator('.whose, .changes .what'), (parts) =>
        parts.map((part) => part.getBoundingClientRect().height).filter((height) => height > 45),
      )
      await expectStill(high, address).toEqual([])
    }
    expect(complaints).toEqual([])
  })

  it('is shortened where causes are listed, and whole on the page of the deployment', async () => {
    const { page } = await visit('')
    const cause = page.locator('.cause', { hasText: 'IllegalStateException' })
    await cause.waitFor()
    await expectShown(textOf(cause)).toSatisfy((text: string) => text.length < 400)
    await cause.click()
    await page.locator('.changes').getByText(trace.trim()).waitFor()
  })

  it('is counted if it is one of many labels', async () => {
    const { page } = await visit('devices')
    await page.getByRole('row', { name: /Oven/ }).getByText('+2').waitFor()
  })

  it('of a button begins where the text above it begins', async () => {
    const { page } = await visit(`rollout/${encodeURIComponent(ids.ROLLOUT ?? '')}`)
    const add = page.getByRole('button', { name: 'Add labels' })
    await add.waitFor()
    const begin = inElement(add, (button) => {
      const range = document.createRange()
      range.selectNodeContents(button)
      return range.getBoundingClientRect().x - (document.querySelector('h1')?.getBoundingClientRect().x ?? 0)
    })
    await expectStill(begin).toBe(0)
  })

  it('of ages moves no state of a component', async () => {
    const { page } = await visit('deployment/edge-5/web-5')
    const item = page.locator('.component-list li')
    await item.first().waitFor()
    const places = inElements(item, (items) =>
      ['now', '23 h 59 min ago'].flatMap((age) =>
        items.map((one) => {
          one.querySelector('time')?.replaceChildren(age)
          return one.querySelector('.marks')?.getBoundingClientRect().x
        }),
      ),
    )
    await expectStill(places).toSatisfy((all: number[]) => new Set(all).size === 1)
  })

  it.each([1440, 390])('of a device has the mark beside it, %i pixels wide', async (width) => {
    const device = 'gateway-1/mixer-0003'
    const body = { deploymentId: 'marked', status: { state: 'installed' }, components: [] }
    await server().post(`/device/${encodeURIComponent(device)}/deployment/marked/status`, body)
    const { page } = await visit('deployments?text=marked')
    await page.setViewportSize({ width, height: 800 })
    const row = page.getByRole('row', { name: /marked/ })
    await row.waitFor()
    const where = row.locator('.where')
    await doInElement(where, (element) => {
      // As for an offline device.
      const copy = element.closest('.row')?.querySelector('.state .mark')?.cloneNode(true)
      if (copy) element.append(copy)
    })
    const places = inElement(where, ({ children }) =>
      [...children].map((child) => {
        const { x, y } = child.getBoundingClientRect()
        return { x, y }
      }),
    )
    const [name, mark] = await readStill(places)
    expect(mark?.x).toBeGreaterThan(name?.x ?? Number.POSITIVE_INFINITY)
    expect(Math.abs((mark?.y ?? 0) - (name?.y ?? 0))).toBeLessThan(10)
  })

  it.each([1440, 390])('never hides what the keyboard reaches, %i pixels wide', async (width) => {
    const deployments = Array.from({ length: 30 }, (_, index) => ({
      deviceId: `k-${index}`,
      deploymentId: `k-${100 + index}`,
    }))
    await server().query(
      `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "keys" }, deployments: $deployments }) { __typename }
      }`,
      { deployments },
    )
    const { page } = await visit('deployments?text=k-&order=NAME')
    await page.setViewportSize({ width, height: 800 })
    await page.getByRole('row', { name: /k-100/ }).getByRole('link').first().focus()
    const bar = await readStill(boxOf(page.getByRole('complementary', { name: 'History' })))
    const place = inPage(page, () => document.activeElement?.getBoundingClientRect().bottom)
    for (let count = 1; count < 20; count += 1) {
      await page.keyboard.press('ArrowDown')
      await expectStill(place).toBeLessThanOrEqual(bar?.y ?? 0)
    }
  })
})
