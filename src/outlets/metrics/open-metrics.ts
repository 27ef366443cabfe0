/**
 * The metrics of a registry in OpenMetrics 1.0, with exemplars. prom-client prints this format too, but it renames its counters for that, and
 * they keep the name: the text format would no longer have `_total`.
 */
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

interface Sample extends MetricValue<string> {
  readonly metricName?: string
  readonly exemplar?: {
    readonly labelSet: Readonly<Record<string, string | number>>
    readonly value: number
    readonly timestamp: number
  } | null
}

export async function printOpenMetrics(registry: Registry): Promise<string> {
  const families = (await registry.getMetricsAsJSON()) as MetricObjectWithValues<Sample>[]
  return `${families.map(printFamily).join('\n')}\n# EOF\n`
}

function printFamily({ name, help, type, values }: MetricObjectWithValues<Sample>): string {
  const isCounter = String(type) === 'counter'
  const family = isCounter ? name.replace(/_total$/, '') : name
  const samples = values.map(({ metricName = name, labels, value, exemplar }) => {
    const printed = `${isCounter ? `${family}_total` : metricName}${printLabels(labels)} ${printNumber(value)}`
    if (!exemplar) return printed
    return `${printed} # ${printLabels(exemplar.labelSet, '{}')} ${printNumber(exemplar.value)} ${exemplar.timestamp}`
  })
  return [`# HELP ${family} ${escapeText(help)}`, `# TYPE ${family} ${type}`, ...samples].join('\n')
}

function printLabels(labels: Readonly<Partial<Record<string, string | number>>>, none = ''): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeText(String(value))}"`)
  return pairs.length === 0 ? none : `{${pairs.join(',')}}`
}

function printNumber(value: number): string {
  return Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
