/** What the headlines say: one denominator on each card, from one answer, and 100 % only of what is installed and works. */
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { declare, documentOf, remove } from '../../support/clients/desired.ts'
import { doInPage, expectNone, expectShown, expectStill, inPage, textOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'
import { send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the headlines of the dashboard', () => {
  const { server, visit } = useDashboard()

  it('count what is installed and works, and say why an object of the run does not', async () => {
    const emco = newGroup(server())
    const context = newContext()
    const clusters = ['p+bonn', 'p+kiel']
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(
      context,
      clusters.map((cluster) => ({ name: 'sink', cluster })),
    )
    const failing = {
      metadata: { name: 'sink-0', namespace: 'default' },
      status: {
        phase: 'Pending',
        containerStatuses: [
          { name: 'sink', ready: false, state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
        ],
      },
    }
    await emco.show(context, { deploymentStatuses: [shownDeployment('sink', true)] }, { cluster: 'p+bonn' })
    await emco.show(
      context,
      { deploymentStatuses: [shownDeployment('sink', false)], podStatuses: [failing] },
      { cluster: 'p+kiel' },
    )
    const { rollouts } = await server().query(
      '{ rollouts(filter: { kinds: [DEPLOYMENT_INTENT_GROUP] }) { nodes { id name deploymentCounts { installed } } } }',
    )
    expect(rollouts.nodes[0].deploymentCounts.installed).toBe(2)

    const { page, complaints } = await visit('#/rollouts')
    const line = page.getByRole('listitem').filter({ hasText: rollouts.nodes[0].name })
    await line.getByText('1 not working').waitFor()
    await expectShown(textOf(line)).toMatch(/1 of 2\s*50 %/)
    await line.getByRole('img', { name: '1 installed, 1 installed, not working' }).waitFor()
    await line.getByRole('link').click()
    await page.getByText('of 2 deployments installed and working').waitFor()
    await expectShown(textOf(page.locator('.headline .share'))).toBe('50 %')
    const row = page.getByRole('table', { name: 'Deployments of this rollout' }).getByRole('row', { name: /kiel/ })
    await row.getByText('Pod sink-0: ImagePullBackOff: no such image').waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('say that no device is offline only if at least one is monitored', async () => {
    const { page } = await visit('')
    const offline = page.getByRole('list', { name: 'Needs attention' }).getByRole('link', { name: /^Offline/ })
    await offline.getByText('not known: no device is monitored').waitFor()
    await expectShown(textOf(offline.locator('b'))).toBe('–')
    await offline.click()
    await page.getByText('2 devices', { exact: true }).waitFor()
    await page.goBack()
    await server().query(
      'mutation { registerDevices(input: { devices: [{ deviceId: "edge-61", expectedInterval: 3600 }] }) { __typename } }',
    )
    await send(server().url, 'edge-61', 'beating', 'installed')
    await offline.getByText('devices offline').waitFor()
    await expectShown(textOf(offline.locator('b'))).toBe('0')
    await send(server().url, 'edge-61', 'beating', 'removed')
  })

  it.runIf(isWhole)('have one denominator: what is removed on purpose is outside, on every page', async () => {
    for (const [device, state] of [
      ['edge-71', 'installed'],
      ['edge-72', 'removed'],
    ] as const) {
      await send(server().url, device, 'leaving', 'installed')
      await send(server().url, device, 'leaving', state)
    }
    const { page, complaints } = await visit('#/rollouts?text=leaving')
    await page.getByRole('img', { name: 'leaving: 1 installed', exact: true }).waitFor()
    await expectShown(textOf(page.getByRole('listitem').filter({ hasText: 'leaving' }))).toMatch(/1 of 1\s*100 %/)
    await page.goto(`${server().url}/devices?text=edge-72`)
    await page
      .getByRole('row', { name: /edge-72/ })
      .getByText('0 (1 removed)')
      .waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'leaving' }).click()
    await page.getByText('of 1 deployment installed').waitFor()
    await page.getByText('1 deployment and 1 removed').waitFor()
    await send(server().url, 'edge-71', 'leaving', 'removed')
    await expectNone(page.locator('.headline .share'), page.getByText('of 2 deployments removed'))
    await page.goto(`${server().url}/#/rollouts?text=leaving`)
    await expectShown(textOf(page.getByRole('listitem').filter({ hasText: 'leaving' }))).toMatch(/2 of 2\s*removed/)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)(
    'compare with their target versions the deployments that should be there, or else what is removed',
    async () => {
      const names = ['kept', 'dropped'] as const
      const report = (deploymentId: (typeof names)[number], adoptedManifestVersion: number, state: string) =>
        server().post(`/device/edge-75/deployment/${deploymentId}/status`, {
          ...{ deploymentId, adoptedManifestVersion, status: { state }, components: [] },
        })
      const { declareDeployments: declared } = await server().query(
        `mutation ($deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: "compared" }, deployments: $deployments }) {
          ... on DeclareDeploymentsSuccess { rollout { id } deployments { id } }
        }
      }`,
        {
          deployments: names.map((deploymentId) => ({
            deviceId: 'edge-75',
            deploymentId,
            document: documentOf(deploymentId),
          })),
        },
      )
      const ids = declared.deployments.map(({ id }: { readonly id: string }) => id)
      for (const name of names) await report(name, 2, 'installed')
      await remove(server(), ids.slice(1), 'not needed')
      await report('dropped', 3, 'removed')
      await report('kept', 3, 'installed')
      const { page, complaints } = await visit(`rollout/${declared.rollout.id}`)
      await page.getByText('1 installed: 1 up to date').waitFor()
      await page.getByRole('link', { name: 'Converged 1', exact: true }).click()
      await page.getByText('1 deployment', { exact: true }).waitFor()
      await remove(server(), ids.slice(0, 1), 'not needed either')
      await report('kept', 4, 'removed')
      await page.getByRole('link', { name: 'Converged 2', exact: true }).click()
      await expectNone(page.locator('.against p'), page.getByText('2 removed deployments'))
      expect(complaints).toEqual([])
    },
  )

  it('agree with each other while reports pour in', async () => {
    await declare(server(), [{ deviceId: 'edge-80', deploymentId: 'meant', document: documentOf('meant', '1') }])
    await server().post('/device/edge-80/deployment/meant/status', {
      deploymentId: 'meant',
      adoptedManifestVersion: 2,
      status: { state: 'installed' },
      components: [],
    })
    const { page, complaints } = await visit('#/')
    await page.locator('.against p').waitFor()
    await doInPage(page, () => {
      const wrong = new Set<string>()
      const number = (text: string | null | undefined): number => Number(text?.replaceAll(/\D/g, ''))
      const look = (): void => {
        const legend = [...document.querySelectorAll('.hero .legend')][0]
        const states = [...(legend?.querySelectorAll('li:not(.outside) b') ?? [])].map((b) => number(b.textContent))
        const counted = states.slice(0, 4).reduce((sum, each) => sum + each, 0)
        const title = document.querySelector('#fleet')
        const expected = number(title?.querySelector('.muted')?.textContent)
        const failed = number(document.querySelector('.facts b')?.textContent)
        const installed = number(document.querySelector('.against p b')?.textContent)
        if (counted !== expected) wrong.add(`${counted} in the legend, ${expected} in the headline`)
        if (failed !== states[2]) wrong.add(`${failed} failed, ${states[2]} in the legend`)
        if (installed !== states[0]) wrong.add(`${installed} compared, ${states[0]} in the legend`)
        requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
      Object.assign(globalThis, { wrong })
    })
    for (let round = 0; round < 6; round += 1)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          send(
            server().url,
            `pour-${index}`,
            `pour-${index}`,
            ['installing', 'failed', 'installed'][(index + round) % 3] ?? '',
            {
              code: '1',
              message: 'no',
            },
          ),
        ),
      )
    const { deploymentCounts } = await server().query('{ deploymentCounts { installed } }')
    await page
      .getByRole('link', { name: `Installed ${deploymentCounts.installed}` })
      .first()
      .waitFor()
    await expectStill(inPage(page, () => [...(globalThis as unknown as { wrong: Set<string> }).wrong])).toEqual([])
    expect(complaints).toEqual([])
  })
})
