/** One picture of all comparisons: how far each is along its way to its aim. */
import type { Claim } from './bench.ts'
import { short } from './table.ts'

export interface Charted extends Claim {
  readonly bench: string
}

const width = 900
const left = 330
const line = 26
/** Where the aim stands, as a share of the plot. */
const aimAt = 0.6

export function drawChart(claims: readonly Charted[], caption: string): string {
  const aimed = claims.filter((claim) => claim.aim !== null)
  const plot = width - left - 90
  const height = 70 + aimed.length * line
  const bars = aimed.map((claim, index) => {
    const y = 50 + index * line
    const share = (value: number): number => Math.min(1, Math.max(0, progress(claim, value) * aimAt)) * plot
    const [a, b] = [share(claim.value.min), share(claim.value.max)].toSorted((x, y) => x - y)
    const middle = y + 8
    return `  <text x="${left - 10}" y="${y + 12}" text-anchor="end">${escapeXml(`${claim.bench}: ${claim.of}`)}</text>
  <rect x="${left}" y="${y}" width="${share(claim.value.median).toFixed(1)}" height="16" fill="${claim.isReached ? '#2f855a' : '#c05621'}"/>
  <path d="M${(left + (a ?? 0)).toFixed(1)} ${middle}H${(left + (b ?? 0)).toFixed(1)}" stroke="#1a202c" stroke-width="2"/>
  <text x="${width - 80}" y="${y + 12}">${escapeXml(`${short(claim.value.median)} (${claim.aim ?? ''})`)}</text>`
  })
  const aim = left + plot * aimAt
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">
  <rect width="100%" height="100%" fill="#fff"/>
  <text x="10" y="20" font-size="14">Rollcall: how far to each aim (line: aim; bar: median; stroke: range)</text>
  <text x="10" y="${height - 8}" fill="#4a5568">${escapeXml(caption)}</text>
${bars.join('\n')}
  <path d="M${aim} 40V${height - 26}" stroke="#2b6cb0" stroke-dasharray="4 3"/>
</svg>
`
}

/** 1 at the aim, more beyond it, whichever way the aim points. */
function progress({ aim }: Claim, value: number): number {
  const [, sign = '≥', number = '1'] = /^([≥≤]) ([\d.]+)/.exec(aim ?? '') ?? []
  if (Number(number) === 0) return value === 0 ? 1 : 0
  return sign === '≥' ? value / Number(number) : Number(number) / Math.max(value, 1e-9)
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? sign)
}
