/** deploy/helm/rollcall as `helm template` prints it. Debian has no helm: where there is none, Go's own text/template renders the chart (render-chart.go). */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { readPage, root } from '../documentation.ts'
import { type KubernetesObject, parseObjects } from './kustomize.ts'

type Values = Readonly<Record<string, unknown>>

const chart = join(root, 'deploy/helm/rollcall')
const runs = (command: string, ...args: readonly string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const hasHelm = runs('helm', 'version')

export const canRender = hasHelm || runs('go', 'version')

export interface Renderer {
  /** The chart with these values in place of its own. Throws what the templates refuse. */
  render(values: Values): readonly KubernetesObject[]
  dispose(): void
}

export function createRenderer(): Renderer {
  if (hasHelm)
    return {
      render: (values) =>
        render('helm', ['template', 'rollcall', chart, '--namespace', 'rollcall', '-f', '-'], JSON.stringify(values)),
      dispose: () => undefined,
    }
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-chart-'))
  const program = join(folder, 'render')
  execFileSync('go', ['build', '-o', program, join(import.meta.dirname, 'render-chart.go')])
  const { appVersion: AppVersion } = parse(readPage('deploy/helm/rollcall/Chart.yaml'))
  const Release = { Name: 'rollcall', Namespace: 'rollcall', Service: 'Helm' }
  return {
    render: (values) =>
      render(
        program,
        [chart],
        JSON.stringify({ Values: merge(valuesOfChart(), values), Chart: { AppVersion }, Release }),
      ),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function valuesOfChart(): Values {
  return parse(readPage('deploy/helm/rollcall/values.yaml'))
}

/** As helm does: maps are merged, and everything else is replaced. */
export function merge(standard: Values, given: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const merged = Object.entries(given).map(([name, value]) => {
    const before = standard[name]
    return [name, isMap(value) && isMap(before) ? merge(before, value) : value] as const
  })
  return { ...standard, ...Object.fromEntries(merged) }
}

function render(program: string, args: readonly string[], input: string): readonly KubernetesObject[] {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return parseObjects(stdout)
}
