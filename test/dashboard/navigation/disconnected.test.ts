/** What the charts show while the server cannot be reached: nothing after the last moment that is known. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectShown, inElement, type Look, textOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { minute, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('a chart without a connection', () => {
  const { server, visit } = useDashboard()
  let rollout = ''

  beforeAll(async () => {
    const { declareDeployments } = await server().query(
      `mutation { declareDeployments(input: { rollout: { name: "bakery" }, deployments: [{ deviceId: "oven-1", deploymentId: "bread" }] }) {
        ... on DeclareDeploymentsSuccess { rollout { id } } } }`,
    )
    rollout = declareDeployments.rollout.id
  })

  /** A page that is connected. `disconnect`: nothing reaches the server, for five minutes. */
  async function open(address: string) {
    const { page } = await visit('setup')
    await page.clock.install()
    const sockets: { close(): Promise<void> }[] = []
    let isCut = false
    await page.routeWebSocket('**/graphql', (socket) => {
      if (isCut) return void socket.close()
      sockets.push(socket)
      socket.connectToServer()
    })
    await page.goto(`${server().url}/${address}`)
    await page.getByText('Live', { exact: true }).waitFor()
    const disconnect = async (): Promise<void> => {
      isCut = true
      await page.route(/\/(graphql|session)$/, (route) => route.abort())
      for (const socket of sockets) await socket.close()
      await page.getByText('Disconnected', { exact: true }).waitFor()
      await page.clock.fastForward(5 * minute)
      await page.locator('.notice.lost').getByText('5 min ago').waitFor()
    }
    const connect = async (): Promise<void> => {
      isCut = false
      await page.unroute(/\/(graphql|session)$/)
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
    }
    return { page, disconnect, connect }
  }

  /** Where the drawn areas end, as a part of the width. */
  const drawn = (page: Page): Look<number> =>
    inElement(page.locator('.trend svg[role=img]'), (svg) => {
      const ends = [...svg.querySelectorAll('polygon.area')].flatMap((area) =>
        (area.getAttribute('points') ?? '').split(' ').map((point) => Number(point.split(',')[0])),
      )
      return Math.max(...ends) / svg.clientWidth
    })

  it('of the fleet ends where it was lost, and goes on when it is back', async () => {
    const { page, disconnect, connect } = await open('')
    await page.locator('.trend polygon.area').first().waitFor({ state: 'attached' })
    await expectShown(drawn(page)).toBeGreaterThan(0.9)
    await disconnect()
    // The history is ten minutes long, and five of fifteen are not known.
    await expectShown(drawn(page)).toBeLessThan(0.75)
    await expectShown(drawn(page)).toBeGreaterThan(0.55)
    await connect()
    await expectShown(drawn(page)).toBeGreaterThan(0.9)
  })

  it.runIf(isWhole)('of a rollout ends where it was lost', async () => {
    const { page, disconnect } = await open(`rollout/${rollout}`)
    const progress = page.getByRole('region', { name: 'Progress' })
    await progress.getByText(/^over 1 min/).waitFor()
    await disconnect()
    await expectShown(textOf(progress.getByRole('heading'))).toMatch(/over [12] min/)
  })
})
