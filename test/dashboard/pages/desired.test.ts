import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { declare, documentOf, remove } from '../../support/clients/desired.ts'
import { drawnTextsOf, expectGone, expectShown, textsOf, urlOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { holdAnswers, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the dashboard', () => {
  const { server, visit } = useDashboard()

  it('shows desired and actual state as both change, and the difference between two versions', async () => {
    const [deviceId, deploymentId] = ['edge-5', 'meant']
    const document = (revision: string) => ({ deviceId, deploymentId, document: documentOf(deploymentId, revision) })
    const [id = ''] = await declare(server(), [document('1.0.0')], 'first')
    const { page, complaints } = await visit(`#/deployment/${deviceId}/${deploymentId}`)
    const panel = page.getByRole('region', { name: 'Desired state' })
    const verdict = (word: string) => page.getByRole('status').getByText(word, { exact: true }).waitFor()
    await panel.getByText('The device does not report which version it has adopted.').waitFor()
    await adopt(2, 'installing')
    await verdict('Applying')
    await adopt(2, 'installed')
    await verdict('Converged')
    const then = new Date().toISOString()

    await declare(server(), [document('2.0.0')], 'because of what was found')
    await verdict('Older version')
    await verdict('Installed')
    await panel.getByText('Still on version 2. Version 3 not picked up yet.').waitFor()
    await panel.getByText(/^Declared.*because of what was found.*(now|\d+ s ago)$/).waitFor()
    await panel.getByText(/^sha256:[0-9a-f]{12}… · \d+ bytes$/).waitFor()
    await panel.getByText('1 line added, 1 line removed').waitFor()
    await expectShown(textsOf(panel.locator('.diff .removed code'))).toEqual([expect.stringContaining('1.0.0')])
    await expectShown(textsOf(panel.locator('.diff .added code'))).toEqual([expect.stringContaining('2.0.0')])
    await adopt(3, 'installed')
    await verdict('Converged')

    await remove(server(), [id], 'the site closes')
    await verdict('Older version')
    await panel.getByText('Withdrawn. The device should remove it.').waitFor()
    const whole = documentOf(deploymentId, '2.0.0').trimEnd().split('\n')
    await panel.getByText(`0 lines added, ${whole.length} lines removed`).waitFor()
    // Any two versions can be compared, and the address holds them.
    await panel.getByLabel('From version').selectOption('nothing')
    await panel.getByLabel('To version').selectOption('2')
    await panel.getByText(`${whole.length} lines added, 0 lines removed`).waitFor()
    await expectShown(urlOf(page)).toContain('from=nothing&to=2')
    // The lines of other versions are not said to be of these.
    const release = await holdAnswers(page, /query DesiredContents\b/)
    await panel.getByLabel('To version').selectOption('3')
    await panel.getByRole('status').getByText('Loading…').waitFor()
    await panel.locator('.outdated .diff').waitFor()
    await release()
    await panel.getByText(`${whole.length} lines added, 0 lines removed`).waitFor()
    await expectGone(panel.locator('.outdated'))
    await adopt(4, 'removed')
    await verdict('Converged')

    // The past has no later versions.
    await page.goto(`${server().url}/#/deployment/${deviceId}/${deploymentId}?at=${then}`)
    await verdict('Installed')
    await panel.getByText('Up to date with version 2.').waitFor()
    await expectShown(textsOf(panel.getByLabel('To version').locator('option'))).toEqual([
      expect.stringMatching(/^version 2,/),
      expect.stringMatching(/^nothing/),
    ])

    await page.goto(`${server().url}/#/device/${deviceId}`)
    const manifests = page.getByRole('region', { name: /^Manifest versions/ }).locator('.manifests > li')
    await manifests.nth(2).waitFor()
    await expectShown(drawnTextsOf(manifests)).toEqual([
      expect.stringMatching(/^4\b[\s\S]*the site closes[\s\S]*withdrawn meant/),
      expect.stringMatching(/^3\b[\s\S]*because of what was found[\s\S]*declared meant/),
      expect.stringMatching(/^2\b[\s\S]*first[\s\S]*declared meant/),
    ])
    const properties = {
      ...{ id: deviceId, vendor: 'Presses', modelNumber: 'P-400', serialNumber: '0007' },
      ...{ cpus: [{ cores: 4, architecture: 'arm64' }], memory: '8Gi', supportedDeploymentTypes: ['helm'] },
    }
    expect((await server().post(`/api/v1/capabilities/${deviceId}`, { properties })).ok).toBe(true)
    await page.reload()
    await page.getByText('Presses P-400').waitFor()
    await page
      .getByRole('region', { name: /^Capabilities/ })
      .getByText('"arm64"')
      .waitFor()
    expect(complaints).toEqual([])

    async function adopt(adoptedManifestVersion: number, state: string): Promise<void> {
      const body = { deploymentId, adoptedManifestVersion, status: { state }, components: [] }
      expect((await server().post(`/device/${deviceId}/deployment/${deploymentId}/status`, body)).ok).toBe(true)
    }
  })

  it.runIf(isWhole)(
    'distinguishes installed deployments from those that are installed on an older version',
    async () => {
      const meant = (deviceId: string, revision: string) => ({
        deviceId,
        deploymentId: 'counted',
        document: documentOf('counted', revision),
      })
      const devices = ['edge-61', 'edge-62', 'edge-63']
      for (const deviceId of devices) {
        await declare(server(), [meant(deviceId, '1')])
        const body = {
          deploymentId: 'counted',
          adoptedManifestVersion: 2,
          status: { state: 'installed' },
          components: [],
        }
        await server().post(`/device/${deviceId}/deployment/counted/status`, body)
      }
      const { page } = await visit('#/deployments?text=counted&convergence=STALE')
      await page.getByText('No deployments match these filters.').waitFor()
      for (const deviceId of devices.slice(0, 2)) await declare(server(), [meant(deviceId, '2')])
      await page.getByText('2 deployments', { exact: true }).waitFor()
      await page
        .getByRole('row', { name: /edge-61/ })
        .getByText('Older version')
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Older version', exact: true }).click()
      await page.getByRole('row', { name: /edge-63/ }).waitFor()
      await page.goto(`${server().url}/#/`)
      await page.getByRole('link', { name: /^Older version\s*\d/ }).click()
      await page.getByRole('row', { name: /edge-62/ }).waitFor()
      await expectShown(urlOf(page)).toContain('convergence=STALE')
      await page.goto(`${server().url}/#/rollouts?text=counted`)
      await page.getByRole('img', { name: 'counted: 1 installed, 2 installed, older version' }).waitFor()
      await page.getByText('2 on an older version').waitFor()
      await page.goto(`${server().url}/#/feed?kind=desired`)
      await page.getByText('target version 3').first().waitFor()
    },
  )
})
