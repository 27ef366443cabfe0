/** The objects of deploy/kubernetes as `kubectl kustomize` prints them, and what the API of Kubernetes would refuse of them. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { root } from '../documentation.ts'

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: of any kind; the schemas check it.
  readonly spec?: any
  readonly data?: Readonly<Record<string, string>>
}

/** `resources` with folders, components and patches that may change the kind: version 4.5 of kustomize. Debian 12 has an older one. */
export function hasKustomize(): boolean {
  const { stdout } = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' })
  return /^Kustomize Version: v([5-9]|4\.5)/m.test(stdout ?? '')
}

export function parseObjects(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null)
}

export function kustomize(folder: string): readonly KubernetesObject[] {
  const path = join(root, 'deploy/kubernetes', folder)
  const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
  if (status !== 0 || stderr !== '') throw new Error(stderr)
  return parseObjects(stdout)
}

export function find(objects: readonly KubernetesObject[], ...kinds: readonly string[]): KubernetesObject {
  const [found, ...more] = objects.filter(({ kind }) => kinds.includes(kind))
  if (!found || more.length > 0) throw new Error(`not one object is ${kinds}`)
  return found
}

const packages: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io/v1': '@kubernetes-models/gateway-api',
  'cert-manager.io/v1': '@kubernetes-models/cert-manager',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator',
}
const moduleOf = ({ apiVersion, kind }: KubernetesObject): string =>
  `${packages[apiVersion] ?? 'kubernetes-models'}/${apiVersion}/${kind}`

/** Values that a schema refuses, and fields that it does not have: the validators accept any field, and the types of TypeScript do not. */
export async function problemsOf(objects: readonly KubernetesObject[]): Promise<readonly string[]> {
  const problems: string[] = []
  for (const object of objects) {
    const { [object.kind]: Model } = await import(moduleOf(object))
    try {
      new Model(object).validate()
    } catch (error) {
      problems.push(`${object.kind} ${object.metadata.name}: ${(error as Error).message}`)
    }
  }
  return [...problems, ...unknownFields(objects)]
}

function unknownFields(objects: readonly KubernetesObject[]): readonly string[] {
  // Beside the packages, or their types are not found.
  const folder = mkdtempSync(join(root, 'node_modules/.cache/rollcall-types-'))
  try {
    const lines = objects.map(
      (object, index) =>
        `import type { I${object.kind} as T${index} } from '${moduleOf(object)}'\nexport const o${index}: T${index} = ${JSON.stringify(object)}`,
    )
    writeFileSync(join(folder, 'objects.ts'), lines.join('\n'))
    const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: 'nodenext', types: [] }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['objects.ts'] }))
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
    return stdout.split('\n').filter((line) => line.includes('error'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
