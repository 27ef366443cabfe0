/** The results for people. */
import type { Claim, Finding, Row } from './bench.ts'
import type { Machine } from './machine.ts'
import type { Spread } from './statistics.ts'

export function printHeader(machine: Machine, settings: readonly string[]): string {
  return [
    `${machine.cpu} · ${machine.cores} cores · ${machine.memory} · Linux ${machine.kernel} · Node ${machine.node}`,
    `commit ${machine.commit} · ${machine.at} · load before ${machine.load}`,
    settings.length > 0 ? `PostgreSQL: ${settings.join(' · ')}` : 'no PostgreSQL was needed',
    'No process is pinned: server, database and client share the cores, as they would where it is used.',
  ].join('\n')
}

export function printFinding(name: string, title: string, finding: Finding): string {
  const rows = [
    ['', 'median', 'range', 'server CPU', 'database CPU', 'client CPU'],
    ...finding.rows.map((row) => [
      `  ${row.variant}`,
      `${short(row.rate.median)} ${row.unit}`,
      range(row.rate),
      row.serverCpu ? `${short(row.serverCpu.median)} µs` : '–',
      row.databaseCpu ? `${short(row.databaseCpu.median)} µs` : '–',
      row.clientCpu ? `${Math.round(row.clientCpu.median * 100)} %${isClientBound(row) ? ' !' : ''}` : '–',
    ]),
  ]
  const claims = finding.claims.map((claim) => [
    `  ${claim.of}`,
    `${short(claim.value.median)} ${claim.unit}`,
    range(claim.value),
    claim.aim ? `aim ${claim.aim}` : 'stated',
    outcome(claim),
  ])
  const bound = finding.rows
    .filter(isClientBound)
    .map((row) => `  ! the client of "${row.variant}" used more than 90 % of a core: that number is the client's`)
  return [
    `${name}: ${title}`,
    ...align(rows),
    ...align(claims),
    ...bound,
    ...finding.notes.map((note) => `  ${note}`),
    ...finding.wrong.map((problem) => `  WRONG: ${problem}`),
  ].join('\n')
}

function outcome({ isReached }: Claim): string {
  return isReached === null ? '' : isReached ? 'reached' : 'NOT reached'
}

function isClientBound(row: Row): boolean {
  return row.clientCpu !== null && row.clientCpu.median > 0.9
}

function range({ min, max }: Spread): string {
  return `${short(min)} – ${short(max)}`
}

export function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length)
    })
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('   ')
      .trimEnd(),
  )
}
