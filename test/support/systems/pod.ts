/**
 * A pod of deploy/kubernetes without Kubernetes: the real program with the environment, the files, the probes and the end that the manifest says, in a
 * mount namespace whose root is read-only, as a user that no file names and without capabilities. Only the port and the address are the test's.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readPage, root } from '../documentation.ts'
import type { KubernetesObject } from './kustomize.ts'
import type { Container, PodSpec } from './pod-standard.ts'

/** Mounts need root. */
export const canConfine =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0 &&
  spawnSync('setpriv', ['--version']).status === 0

export interface Pod {
  readonly url: string
  readonly port: number
  /** The status of a probe of the manifest. */
  probe(name: 'startupProbe' | 'livenessProbe' | 'readinessProbe'): Promise<number>
  log(): string
  /**
   * As the kubelet ends it. `beforeSignal`: what is done while preStop runs, in place of its time. Resolves with the exit code, or SIGKILL when the grace
   * is over.
   */
  end(beforeSignal?: () => Promise<unknown>): Promise<number | NodeJS.Signals>
  dispose(): Promise<void>
}

/** The pod template of a workload. */
export function podOf(workload: KubernetesObject): PodSpec {
  return workload.spec.template.spec
}

/** What the container's environment is: that of the image, of its ConfigMaps, and its own. */
export function environmentOf(objects: readonly KubernetesObject[], { env = [], envFrom = [] }: Container) {
  const [, line = ''] = /^ENV (.*)$/m.exec(readPage('deploy/Dockerfile')) ?? []
  const maps = envFrom.map(({ configMapRef }) => {
    const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name)
    if (!found?.data) throw new Error(`there is no ConfigMap ${configMapRef.name}`)
    return found.data
  })
  return Object.assign(
    Object.fromEntries([...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])),
    ...maps,
    Object.fromEntries(env.map(({ name, value = '' }) => [name, value])),
  ) as Record<string, string>
}

/** $1: the folder of the volumes. $2: what is in /rollcall. $3: the user. $4: the group of the volumes. $5: the volumes, `path:ro` or `path:rw`. $6: the folder of Node. Then `NAME=value`, and the command. */
const confine = `set -e
new=$1 program=$2 user=$3 group=$4 volumes=$5 node=$6
shift 6
mount --make-rprivate /
mount -t tmpfs -o mode=0755 none "$new.root"
cd "$new.root"
mkdir rollcall node usr dev proc etc
mount --bind "$program" rollcall
mount -o remount,bind,ro rollcall
mount --bind "$node" node
for name in bin lib lib64 sbin; do
  if [ -L "/$name" ]; then cp -P "/$name" .; elif [ -d "/$name" ]; then mkdir "$name"; mount --bind "/$name" "$name"; fi
done
mount --rbind /usr usr
mount --rbind /dev dev
mount --rbind /proc proc
for volume in $volumes; do
  path=.\${volume%:*}
  mkdir -p "$path"
  mount --bind "$new/$path" "$path"
  mount -o "remount,bind,\${volume#*:}" "$path"
done
mount -o remount,ro .
exec chroot . setpriv --reuid="$user" --regid=0 --groups="$group" --inh-caps=-all --bounding-set=-all --no-new-privs env -i -C /rollcall "$@"
`

/** What is in /rollcall, and the options of Node that are no part of it. */
interface Layout {
  readonly folder: string
  readonly change: (word: string) => string
  readonly options: string
}

/** The checkout in place of the package. */
const checkout: Layout = {
  folder: root,
  change: (word) => word.replace('dist/bin.js', 'src/bin.ts'),
  options: '--import=/rollcall/test/support/runner/quick-start.mjs',
}

export async function startPod(
  objects: readonly KubernetesObject[],
  workload: KubernetesObject,
  secrets: Readonly<Record<string, string>>,
  layout = checkout,
): Promise<Pod> {
  const spec = podOf(workload)
  const [container] = spec.containers
  if (!container) throw new Error('the pod has no container')
  const [user, group] = [12_345, Number((spec.securityContext as { fsGroup?: number }).fsGroup ?? 0)]
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-pod-'))
  mkdirSync(`${folder}.root`)
  const mounts = container.volumeMounts ?? []
  for (const { name, mountPath } of mounts) {
    const path = join(folder, mountPath)
    mkdirSync(path, { recursive: true })
    const { secret } = (spec.volumes ?? []).find((volume) => volume.name === name) ?? {}
    for (const [key, value] of secret ? Object.entries(secrets) : []) {
      writeFileSync(join(path, key), value)
      chmodSync(join(path, key), (secret as { defaultMode: number }).defaultMode)
      chownSync(join(path, key), 0, group)
    }
    // As the kubelet does with fsGroup.
    chownSync(path, 0, group)
    chmodSync(path, 0o2770)
  }
  const given = environmentOf(objects, container)
  const env = {
    ...given,
    PATH: '/node:/usr/bin:/bin',
    HOST: '127.0.0.1',
    PORT: '0',
    NODE_OPTIONS: `${given.NODE_OPTIONS ?? ''} ${layout.options}`,
  }
  const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(readPage('deploy/Dockerfile')) ?? []
  const args = (JSON.parse(command) as string[]).map(layout.change)
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const volumes = mounts.map(({ mountPath, readOnly }) => `${mountPath}:${readOnly ? 'ro' : 'rw'}`).join(' ')
  const node = dirname(process.execPath)
  const words = [folder, layout.folder, String(user), String(group), volumes, node, ...settings, ...args]
  const child = spawn('unshare', ['--mount', 'sh', '-c', confine, 'sh', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code, signal]): number | NodeJS.Signals => code ?? signal)
  const said = collect(child)
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, address] = /listens on (\S+)\n/.exec(said.out) ?? []
      if (address) resolve(address)
    })
    ended.then((code) => reject(new Error(`the pod ended with ${code}: ${said.err}`)))
  }).catch((error: unknown) => {
    remove()
    throw error
  })

  function remove(): void {
    for (const path of [folder, `${folder}.root`]) rmSync(path, { recursive: true, force: true })
  }

  return {
    url,
    port: Number(new URL(url).port),
    async probe(name) {
      const { httpGet, timeoutSeconds } = container[name] ?? {}
      if (!httpGet || !timeoutSeconds) throw new Error(`there is no ${name}`)
      const answer = await fetch(url + httpGet.path, { signal: AbortSignal.timeout(timeoutSeconds * 1_000) })
      await answer.arrayBuffer()
      return answer.status
    },
    log: () => said.err,
    async end(beforeSignal) {
      await beforeSignal?.()
      child.kill('SIGTERM')
      const grace = (spec.terminationGracePeriodSeconds ?? 30) - (container.lifecycle?.preStop.sleep.seconds ?? 0)
      const timer = setTimeout(() => child.kill('SIGKILL'), grace * 1_000)
      return ended.finally(() => clearTimeout(timer))
    },
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
      remove()
    },
  }
}

function collect(child: ChildProcess): { readonly out: string; readonly err: string } {
  const said = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    said.out += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said.err += chunk
  })
  return said
}
