/** Names of any length and script, at three widths. */
import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  expectGone,
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inPage,
  readStill,
  textOf,
  textsOf,
  titleOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { followLink, send, useDashboard, widthOf } from '../harness.ts'

const long = `a-device-with-${'a-very-long-name-'.repeat(20)}`.slice(0, 190)
const names = [
  `${long}-0001`,
  `${long}-0002`,
  'מכונת קפה מספר שלוש בקומה השנייה',
  'مضخة المياه رقم سبعة',
  '👩‍👩‍👧‍👦 oven of the family 👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦 ☕️',
]

describe.runIf(findChromium())('names on the dashboard', () => {
  const { server, visit } = useDashboard()

  it('are cut in their middle, and widen no page', async () => {
    for (const name of names) {
      const body = { deploymentId: name, status: { state: 'installed' }, components: [{ name, state: 'installed' }] }
      const path = `/device/${encodeURIComponent(name)}/deployment/${encodeURIComponent(name)}/status`
      expect((await server().post(path, body)).status).toBe(201)
    }
    const last = names.at(-1) ?? ''
    for (const width of [1440, 768, 375]) {
      const { page, complaints } = await visit('deployments')
      await page.setViewportSize({ width, height: 900 })
      const end = page.locator('.row .name span:last-child', { hasText: /-0001$/ }).first()
      await end.waitFor()
      await expectStill(inElement(end, (element) => element.getBoundingClientRect().right)).toBeLessThanOrEqual(width)
      const one = `deployment/${encodeURIComponent(last)}/${encodeURIComponent(last)}`
      for (const [address, drawn] of [
        ['rollouts?kind=MARGO_DEPLOYMENT', '.rollouts li'],
        ['deployments', '.table:not(.devices):not(.feed) .row'],
        ['devices', '.devices .row'],
        [one, '.changes li'],
        ['feed', '.feed .row'],
        ['', '.hero .bar'],
      ] as const) {
        await followLink(page, `/${address}`)
        await page.locator(drawn).first().waitFor()
        await expectStill(widthOf(page), address).toBe(width)
        if (address !== 'devices') continue
        const row = page.getByRole('row', { name: /-0001/ })
        await row.waitFor()
        // A box whose name is below it is a line higher.
        const apart = inElement(row, (element) => {
          const [box, name] = ['input', 'a'].map((part) => element.querySelector(part)?.getBoundingClientRect().y)
          return Math.abs((box ?? Number.NaN) - (name ?? Number.NaN))
        })
        await expectStill(apart).toBeLessThan(12)
      }
      await page.getByText('of 7 deployments installed').waitFor()
      expect(complaints).toEqual([])
    }
  })

  it.runIf(isWhole)('whose letters are joined are cut between words, and begin where the others do', async () => {
    const { page } = await visit('devices')
    const row = page.getByRole('row', { name: /مضخة/ })
    const parts = row.locator('.name [aria-hidden]')
    await expectShown(textsOf(parts)).toEqual(['مضخة المياه ', 'رقم سبعة'])
    const other = page
      .getByRole('row', { name: /edge-1/ })
      .getByRole('link')
      .locator('bdi')
    const begins = (part: Locator) => inElement(part, (element) => element.getBoundingClientRect().x)
    const expected = await readStill(begins(other))
    await expectStill(begins(parts.last())).toBeCloseTo(expected)
  })

  it.runIf(isWhole)('of gateways stand beside the devices that are heard through them', async () => {
    await server().query(`mutation {
      registerDevices(input: { devices: [{ deviceId: "gateway-1" }, { deviceId: "child-1", parent: "gateway-1" }] }) { __typename }
    }`)
    const body = { deploymentId: 'own', status: { state: 'installed' }, components: [] }
    await server().post('/device/gateway-1/deployment/own/status', body)
    const { page } = await visit('devices')
    const row = page.getByRole('row', { name: /child-1/ })
    await row.getByText(/^via gateway-1, (now|\d+ s ago)$/).waitFor()
    await row.getByText('Not monitored').waitFor()
  })

  it.runIf(isWhole)('of a device are not repeated on its page', async () => {
    const { page } = await visit('device/gateway-1')
    const child = page.getByRole('table', { name: 'Child devices' }).getByRole('row', { name: /child-1/ })
    await child.getByText(/^(now|\d+ s ago)$/).waitFor()
    const changes = page.getByRole('region', { name: 'Recent changes' }).getByRole('listitem')
    await expectNone(changes.getByText('gateway-1'), changes.getByText('Installed'))
    // The bar has its numbers in words, and each leads to its deployments.
    await page.getByRole('link', { name: 'Installed 1' }).click()
    await page.getByText('1 deployment', { exact: true }).waitFor()
  })

  it.runIf(isWhole)('of devices stand beside what runs on them, if both fit', async () => {
    const device = 'a-device-with-a-name'
    await send(server().url, device, 'own', 'installed')
    const { page } = await visit(`deployment/${device}/own`)
    const title = page.getByRole('heading', { name: `own on ${device}` }).locator('> span')
    const places = inElement(title, (element) => {
      const { x, height } = element.getBoundingClientRect()
      return { height, ahead: (element.querySelector('a')?.getBoundingClientRect().x ?? 0) - x }
    })
    const { height, ahead } = await readStill(places)
    expect(ahead).toBeGreaterThan(0)
    expect(height).toBeLessThan(40)
  })

  it.runIf(isWhole)('of labels may contain what separates a key from its value', async () => {
    await server().query(`mutation {
      registerDevices(input: { devices: [
        { deviceId: "labelled-1", labels: [{ key: "50%3D=wing", value: "b=c%" }] }
        { deviceId: "labelled-2", labels: [{ key: "50", value: "D=wing=b=c%" }] }
      ] }) { __typename }
    }`)
    const { page } = await visit('devices')
    await page.getByRole('link', { name: '50%3D=wing: b=c%', exact: true }).click()
    await expectGone(page.getByRole('row', { name: /labelled-2/ }))
    await page.getByRole('row', { name: /labelled-1/ }).waitFor()
  })

  it('show hidden characters as escapes, in texts, attributes and the title', async () => {
    const name = 'pump\u202e7-\u200b'
    const escaped = String.raw`pump\u202e7-\u200b`
    const error = { code: name, message: `broken: ${name}` }
    await send(server().url, encodeURIComponent(name), name, 'failed', error, undefined, [{ name, state: 'failed' }])
    const { page } = await visit('devices')
    const row = page.getByRole('row', { name: escaped })
    await row.getByRole('checkbox', { name: `Select ${escaped}`, exact: true }).waitFor()
    await row.getByRole('link', { name: escaped }).first().click()
    await page.getByRole('heading', { name: escaped }).waitFor()
    await page
      .locator(`[title*=${JSON.stringify(escaped)}]`)
      .first()
      .waitFor()
    await expectShown(titleOf(page)).toContain(escaped)
    const hidden = inPage(page, () => /.{0,80}[\u202e\u200b]/.exec(document.documentElement.outerHTML)?.[0])
    const address = `deployment/${encodeURIComponent(name)}/${encodeURIComponent(name)}`
    for (const place of [
      `device/${encodeURIComponent(name)}`,
      address,
      'feed',
      'deployments',
      'rollouts?kind=MARGO_DEPLOYMENT',
      'devices',
      '',
    ]) {
      await followLink(page, `/${place}`)
      await expectShown(textOf(page.locator('main')), place).toContain(escaped)
      await expectShown(hidden, place).toBeUndefined()
    }
  })

  it('of devices that look like another name it, with what makes the difference', async () => {
    for (const device of ['caf\u00e9-1', 'cafe\u0301-1'])
      await send(server().url, encodeURIComponent(device), 'own', 'installed')
    const { page } = await visit(`device/${encodeURIComponent('cafe\u0301-1')}`)
    const note = page.getByRole('region', { name: 'The ID looks like that of another device' })
    await expectShown(textsOf(note.locator('code'))).toEqual([String.raw`cafe\u0301-1`, String.raw`caf\u00e9-1`])
    await note.getByRole('link').click()
    await expectShown(titleOf(page)).toContain('caf\u00e9-1')
    await expectNone(note, page.getByRole('heading', { name: 'caf\u00e9-1' }))
  })
})
