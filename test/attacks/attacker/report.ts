/** What a run has found, as tables, and the verdict on it. */
import type { Findings } from './attack.ts'

export interface Part {
  readonly name: string
  readonly found: Findings
  readonly seconds: number
}

/** Milliseconds of the main thread's own work that none may last, and by how much memory may be larger at the end than once warm. */
const [longestStall, mostGrowth] = [200, 1.25]

/** Without refusals of a server without time, which a limit may give. */
function serverErrors({ byStatus, busy }: Pick<Findings, 'byStatus' | 'busy'>): number {
  const all = Object.entries(byStatus).reduce((sum, [status, times]) => sum + (Number(status) >= 500 ? times : 0), 0)
  return all - Object.values(busy).reduce((sum, { times }) => sum + times, 0)
}

export function problemsOf({ warm, end, ...found }: Findings): string[] {
  const growth = warm.rss > 0 && end.rss > 0 ? Math.max(end.rss / warm.rss, end.heap / warm.heap) : 1
  return [
    ...(serverErrors(found) > 0 ? [`${serverErrors(found)} answers are 5xx`] : []),
    ...(found.rejections > 0 ? [`${found.rejections} unhandled rejections`] : []),
    ...(found.stalls.some(({ cpu }) => cpu > longestStall) ? [`a stall is longer than ${longestStall} ms`] : []),
    ...(growth > mostGrowth ? [`the memory is ${growth.toFixed(2)} times as large as once warm`] : []),
    ...found.failures,
    ...found.drift.map((drift) => `drift: ${JSON.stringify(drift)}`),
  ]
}

export function tablesOf(parts: readonly Part[]): string {
  const rows = parts.map(({ name, found, seconds }) => {
    const { sent, handled, stalls, warm, end, cpu, drift } = found
    const longest = (of: 'time' | 'cpu'): string => Math.max(0, ...stalls.map((stall) => stall[of])).toFixed(0)
    return [
      ...[name, sent, handled, (handled / seconds).toFixed(0), (cpu.main / sent).toFixed(2)],
      ...[serverErrors(found), found.exits, `${longest('cpu')}, ${longest('time')}`],
      ...[`${mebibytes(warm.heap)} → ${mebibytes(end.heap)}`, `${mebibytes(warm.rss)} → ${mebibytes(end.rss)}`],
      drift.length,
    ]
  })
  const head = [
    ...['part', 'sent', 'handled', 'handled a second', 'ms of the main thread for each', '5xx', 'exits'],
    ...['longest stall, ms: own work, all', 'heap, MiB: warm → end', 'RSS, MiB: warm → end', 'drift'],
  ]
  const kinds = [...new Set(parts.flatMap(({ found }) => Object.keys(found.byKind)))].toSorted()
  const ofKinds = kinds.map((kind) => [
    kind,
    ...parts.map(({ found: { byKind } }) => {
      const { sent, handled, time } = byKind[kind] ?? { sent: 0, handled: 0, time: 0 }
      return `${handled} of ${sent}, ${(time / Math.max(sent, 1)).toFixed(0)} ms`
    }),
  ])
  return `${table([head, ...rows])}\n\n${table([['handled of sent, mean time', ...parts.map(({ name }) => name)], ...ofKinds])}`
}

export function verdictOf(parts: readonly Part[]): string {
  const handled = parts.reduce((sum, { found }) => sum + found.handled, 0)
  const unsound = parts.filter(({ found }) => problemsOf(found).length > 0).map(({ name }) => name)
  const verdict = unsound.length === 0 ? 'PASSED' : `FAILED (${unsound.join('; ')})`
  return `${verdict}: ${handled} inputs reached a handler`
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)

function table(rows: readonly (readonly (string | number)[])[]): string {
  const [head = []] = rows
  const lines = rows.map((row) => `| ${row.join(' | ')} |`)
  return [lines[0], `|${head.map(() => '---').join('|')}|`, ...lines.slice(1)].join('\n')
}
