/** What the page of a rollout says that has ended badly, or has not begun. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import { attributeOf, expectShown, expectStill, inElement, readStill, textsOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startApp } from '../../support/servers/app.ts'
import { newGroup } from '../../support/systems/emco.ts'
import { minute, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the page of a rollout', () => {
  const { server, visit } = useDashboard()

  it('draws the last change of what has ended, and does not call it done', async () => {
    // The points of the chart are five minutes apart. The last change is in the middle between two of them.
    const grid = 5 * minute
    const ended = Math.floor((Date.now() - 60 * minute) / grid) * grid + grid / 2
    let time = ended - 100 * minute
    const clock = (): number => time
    const { url, query, stop } = await startApp({ clock, begins: clock })
    onTestFinished(stop)
    const { declareDeployments } = await query(`mutation {
      declareDeployments(input: { rollout: { name: "doomed" }, deployments: [{ deviceId: "edge-1", deploymentId: "one" }] }) {
        ... on DeclareDeploymentsSuccess { rollout { id } }
      }
    }`)
    await send(url, 'edge-1', 'one', 'installing')
    time = ended
    await send(url, 'edge-1', 'one', 'failed', { code: '507', message: 'disk full' })
    time = ended + 20_000
    await send(url, 'edge-1', 'one', 'failed', { code: '507', message: 'disk still full' })
    time = Date.now()
    const address = `${url}/rollout/${declareDeployments.rollout.id}`
    const { page, complaints, close } = await openPage(await sharedBrowser(), address)
    onTestFinished(close)
    const chart = page.getByRole('img', { name: /^Progress/ })
    await page.getByText('over 1 h 41 min').waitFor()
    // The edge of the chart is a minute after the last change: there, all of it is failed.
    const failed = inElement(chart, (svg) => {
      svg.scrollIntoView({ block: 'center' })
      const { right, bottom } = svg.getBoundingClientRect()
      return document.elementFromPoint(right - 1, bottom - 20)?.getAttribute('class') ?? null
    })
    await expectStill(failed).toBe('area failed')
    await expectShown(attributeOf(chart, 'aria-label')).toMatch(/At \d\d:\d\d(:\d\d)? 1 failed\.$/)
    const drawn = inElement(page.locator('.chart', { has: chart }), (figure) =>
      [...figure.querySelectorAll('.area')].map((area) => {
        const entry = figure.querySelector(`.chart-legend .${area.classList[1]} i`)
        return [getComputedStyle(area).fill, entry && getComputedStyle(entry).backgroundColor]
      }),
    )
    const colours = await readStill(drawn)
    expect(colours).toHaveLength(6)
    // Removed has a pattern, because its colour is like that of pending.
    for (const [area, entry] of colours) expect(area?.startsWith('url') ? area : entry).toBe(area)
    expect(colours.filter(([area]) => area?.startsWith('url'))).toHaveLength(1)
    const outcome = page.getByRole('region', { name: 'Outcome' })
    await expectShown(textsOf(outcome.locator('dt'))).toEqual(['Nothing in progress since', 'Took', 'Last change'])
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('says that there are no deployments, and when there will be', async () => {
    const { declareDeployments } = await server().query(`mutation {
      declareDeployments(input: { rollout: { name: "left" }, deployments: [{ deviceId: "edge-3", deploymentId: "gone" }] }) {
        ... on DeclareDeploymentsSuccess { rollout { id } }
      }
    }`)
    const { deployment } = await server().query('{ deployment(deploymentId: "gone") { id } }')
    await server().query('mutation ($id: ID!) { forgetDeployments(input: { ids: [$id] }) { __typename } }', deployment)
    await newGroup(server()).act('Created')
    const { rollouts } = await server().query(
      '{ rollouts(filter: { kinds: [DEPLOYMENT_INTENT_GROUP] }) { nodes { id } } }',
    )
    const { page, complaints } = await visit(`rollout/${declareDeployments.rollout.id}`)
    const forecast = page.getByRole('region', { name: 'Forecast' })
    await forecast.getByText('The rollout has no deployments.').waitFor()
    await page.getByText('They appear here when they are declared for this rollout.').waitFor()
    await page.goto(`${server().url}/rollout/${rollouts.nodes[0].id}`)
    await forecast.getByText('No forecast').waitFor()
    await page.getByText('They appear here when the rollout is instantiated.').waitFor()
    await page.getByText('They appear here when the orchestrator or the cluster reports them.').waitFor()
    await page.getByRole('button', { name: 'Not ready', exact: true }).click()
    await page.getByText('They appear here when the orchestrator or the cluster reports them.').waitFor()
    await page.goto(`${server().url}/deployment/edge-2/other`)
    await page.getByText('1 change, newest first').waitFor()
    expect(complaints).toEqual([])
  })
})
