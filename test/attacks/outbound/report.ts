/** What a run has found, and the verdict on it. */
import type { Findings } from './attack.ts'

/** Milliseconds of the main thread's own work that none may last, and by how much memory may be larger at the end than once warm. */
const [longestStall, mostGrowth] = [200, 1.25]
/** Samples of memory from which on its growth says something. */
const enough = 8

export function problemsOf({ exits, rejections, stalls, samples, problems, lasting }: Findings): string[] {
  // The first third fills caches.
  const warm = samples[Math.floor(samples.length / 3)]
  const end = samples.at(-1)
  const isJudged = samples.length >= enough && warm && end
  const growth = isJudged ? Math.max(end.rss / warm.rss, end.heap / warm.heap) : 1
  return [
    ...(exits > 0 ? ['the server ended'] : []),
    ...(rejections > 0 ? [`${rejections} unhandled rejections`] : []),
    ...stalls
      .filter(({ cpu }) => cpu > longestStall)
      .map(({ cpu, time, modes }) => `a stall of ${cpu.toFixed(0)} ms (${time.toFixed(0)} with others), with ${modes}`),
    ...(growth > mostGrowth ? [`the memory is ${growth.toFixed(2)} times as large as once warm`] : []),
    ...problems,
    ...lasting,
  ]
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)

export function describe(found: Findings): string {
  const { asked, outages, stalls, samples, mostRss } = found
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  const problems = problemsOf(found)
  return [
    `requests and connections: ${list(asked)}`,
    `outages: ${list(outages)}`,
    `longest stalls, ms of its own work: ${stalls.map(({ cpu, modes }) => `${cpu.toFixed(0)} (${modes})`).join('; ')}`,
    `heap, MiB: ${samples.map(({ heap }) => mebibytes(heap)).join(', ')}`,
    `RSS, MiB: ${samples.map(({ rss }) => mebibytes(rss)).join(', ')}; at most ${mebibytes(mostRss)}`,
    ...problems.map((problem) => `! ${problem}`),
    problems.length === 0 ? 'PASSED' : 'FAILED',
  ].join('\n')
}
