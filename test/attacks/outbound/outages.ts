/** Reads the log of the attacked server: each outage of a system is said once, and its end is said. */
interface Line {
  readonly level: string
  readonly msg: string
  readonly [fact: string]: unknown
}

interface Kind {
  readonly begins: RegExp
  readonly ends: RegExp
  /** Another line that ends it only with this value. */
  readonly endsWith?: string
  /** The fact that names the system. */
  readonly by?: string
}

const kinds: Readonly<Record<string, Kind>> = {
  cluster: {
    ...{ begins: /^a cluster cannot be watched/, by: 'cluster' },
    ...{ ends: /^the connection to a cluster has changed/, endsWith: 'ONLINE' },
  },
  traces: { begins: /^traces were not exported/, ends: /^traces are exported again/ },
  spans: { begins: /^spans of requests are dropped/, ends: /^the collector accepts spans of requests again/ },
  issuer: { begins: /^the issuer of OIDC cannot be used/, ends: /^the issuer of OIDC can be used again/ },
  identity: { begins: /^the identity service cannot be used/, ends: /^the identity service can be used again/ },
  broker: { begins: /MQTT broker/, ends: /^connected to the MQTT broker/, by: 'session' },
  publisher: { begins: /^the fleet was not published/, ends: /^the fleet is published by MQTT again/ },
  archive: { begins: /^the background duty archive failed/, ends: /^the background duty archive succeeds again/ },
  retention: { begins: /^the background duty retention failed/, ends: /^the background duty retention succeeds again/ },
}

export interface Outages {
  take(line: string): void
  /** By kind: how many outages began. */
  readonly counts: Readonly<Record<string, number>>
  /** Outages that were said twice, and lines that are errors. */
  readonly problems: readonly string[]
  /** Those that have not ended. */
  open(): readonly string[]
}

export function createOutages(): Outages {
  const lasting = new Map<string, string>()
  const counts: Record<string, number> = {}
  const problems: string[] = []
  const complain = (problem: string): void => {
    if (problems.length < 50) problems.push(problem.slice(0, 1_000))
  }

  function note(line: Line): void {
    for (const [name, { begins, ends, endsWith, by }] of Object.entries(kinds)) {
      const key = by === undefined ? name : `${name} ${line[by]}`
      if (ends.test(line.msg)) {
        if (endsWith === undefined || line.connectivity === endsWith) lasting.delete(key)
        return
      }
      if (!begins.test(line.msg)) continue
      if (line.level === 'info') return
      const said = lasting.get(key)
      if (said !== undefined) complain(`${key} is said to be away again: "${line.msg}", after "${said}"`)
      lasting.set(key, line.msg)
      counts[name] = (counts[name] ?? 0) + 1
      return
    }
  }

  return {
    counts,
    problems,
    take(text) {
      if (text.length > 8_000) complain(`a line of ${text.length} characters: ${text}`)
      try {
        const line = JSON.parse(text) as Line
        if (line.level === 'error') complain(text)
        note(line)
      } catch {
        complain(`no line of the log: ${text}`)
      }
    },
    open: () => [...lasting].map(([key, msg]) => `${key} is not said to be back after "${msg}"`),
  }
}
