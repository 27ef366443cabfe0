/** The files that deploy/Dockerfile puts into the image, and its command, on a read-only root and as a user of OpenShift. No image is built: that needs a registry. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../support/documentation.ts'
import { isDeep } from '../support/runner/depth.ts'
import { copyDependencies } from '../support/servers/package.ts'
import { find, hasKustomize, kustomize } from '../support/systems/kustomize.ts'
import { canConfine, startPod } from '../support/systems/pod.ts'

const run = promisify(execFile)

// Mounts need root. It packs the package as package.deep.test.ts does, in the deep suite.
describe.skipIf(!isDeep || !canConfine || !hasKustomize())('the image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-image-'))
  beforeAll(async () => {
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root })
    await run('sh', ['-c', 'tar -xzf rollcall-*.tgz && rm rollcall-*.tgz'], { cwd: folder })
    copyDependencies(join(folder, 'package'))
    cpSync(join(root, 'package-lock.json'), join(folder, 'package/package-lock.json'))
  }, 300_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('starts as any user in the group 0, without a group of volumes', async () => {
    const objects = kustomize('embedded')
    const workload = structuredClone(find(objects, 'StatefulSet'))
    // As components/openshift does.
    delete workload.spec.template.spec.securityContext.fsGroup
    const API_ADMIN_KEY = 'an-admin-key-for-tests-only'
    const layout = { folder: join(folder, 'package'), change: (word: string) => word, options: '' }
    const pod = await startPod(objects, workload, { API_ADMIN_KEY }, layout)
    onTestFinished(pod.dispose)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      expect([probe, await pod.probe(probe)]).toEqual([probe, 200])
    const page = await (await fetch(pod.url, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('<title>Rollcall</title>')
    expect(await pod.end()).toBe(0)
    expect(pod.log()).not.toMatch(/"level":"(warn|error)"/)
  })
})
